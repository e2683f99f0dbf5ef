// Files of voltages between which a receiver's gain changes: named, and everything left as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kStepTimes = 100'000, kStepInputs = 3;  // of a file

// Complex bytes of noise at 1 MHz, of deviation 20; that of input 1 is another in the second file.
std::string noise_file(std::mt19937_64& random, std::size_t file, double of_second) {
  std::string bytes =
      "HDR_SIZE 4096\nUTC_START 2026-03-20-14:00:00\nFREQ 100\nBW 1\nTSAMP 1\nNBIT 8\nNDIM 2\nNPOL "
      "1\nNCHAN 1\nNANT 3\nORDER TFAP\nOBS_OFFSET " +
      std::to_string(file * kStepTimes * kStepInputs * 2) + "\n";
  bytes.resize(4096, '\0');
  std::normal_distribution<double> normal(0, 20);
  for (std::size_t t = 0; t < kStepTimes; ++t)
    for (std::size_t part = 0; part < 2 * kStepInputs; ++part)
      bytes += static_cast<char>(
          std::clamp(std::round(normal(random) * (file == 1 && part / 2 == 1 ? of_second : 1)),
                     -127.0, 127.0));
  return bytes;
}

TEST(VoltageStepFiles, AGainThatChangesBetweenFilesIsNamedAndLeftAsItIs) {
  auto random = generator();
  const ScratchFolder scratch;
  write_file(scratch / "a.dada", noise_file(random, 0, 1));
  write_file(scratch / "b.dada", noise_file(random, 1, 1.3));  // 2.28 dB
  const auto run = [&](std::vector<std::string> arguments) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  };
  const std::string a = scratch / "a.dada", b = scratch / "b.dada", page = scratch / "page.html";
  const auto summary = documented_in(
      run({"--json", "correlate", a, b, "-o", scratch / "v.uvh5", "--channels", "16", "--taps", "1",
           "--window", "rect", "--integration", "0.05", "--keep-edge", "--report", page})
          .out,
      "tautline.correlate");
  ASSERT_EQ(summary["level_steps"].size(), 1u);
  const auto step = summary["level_steps"][0];
  EXPECT_EQ(step["sample"], kStepTimes);
  EXPECT_EQ(step["before"], a);
  EXPECT_EQ(step["after"], b);
  ASSERT_EQ(step["inputs"].size(), 1u);
  EXPECT_EQ(step["inputs"][0]["input"], 1);
  EXPECT_NEAR(step["inputs"][0]["db"].get<double>(), 2.28, 0.4);
  EXPECT_EQ(summary["integrations"], 4);
  EXPECT_NE(
      read_file(page).find(
          "steps of level, left as they are: b.dada after a.dada (sample 100000): input 1x by +"),
      std::string::npos);
  // The step is in the visibilities: 1.69 times the power of the input with itself, nothing flagged.
  const auto reader = formats::open_visibilities(scratch / "v.uvh5");
  const auto power = [&](std::size_t integration, std::size_t input) {
    const formats::Integration one = reader->read(integration);
    double sum = 0;
    for (std::size_t c = 0; c < 16; ++c) {
      EXPECT_EQ(one.counts(c, input * (input + 1) / 2 + input), 3125);
      sum += one.visibilities(c, input * (input + 1) / 2 + input).real();
    }
    return sum;
  };
  // Powers of 50,000 samples: the ratio of two is known to 0.6 %.
  EXPECT_NEAR(power(3, 1) / power(0, 1), 1.69, 0.08);
  EXPECT_NEAR(power(3, 0) / power(0, 0), 1, 0.05);

  const CommandResult text = run({"channelize", a, b, "-o", scratch / "x.npy", "--channels", "16"});
  EXPECT_NE((text.out + text.err)
                .find("steps of level, left as they are: b.dada after a.dada (sample 100000): "
                      "input 1x by +"),
            std::string::npos)
      << text.out << text.err;
  const auto record = nlohmann::json::parse(read_file(scratch / "x.npy.json"));
  EXPECT_EQ(record["level_steps"][0]["inputs"][0]["input"], 1);
  const auto kept = documented_in(run({"--json", "correlate", a, b, "-o", scratch / "k.uvh5",
                                       "--channels", "16", "--keep-constant"})
                                      .out,
                                  "tautline.correlate");
  EXPECT_EQ(kept["level_steps"], nlohmann::json::array());
}

// The second file begins 0.4 s after the first one's end; inside it, input 1 steps. Whatever is skipped, the time of the
// step is counted from the first file's begin, with the gap.
TEST(VoltageStepFiles, TimesInsideFilesHaveTheGapsBeforeThem) {
  auto random = generator();
  const ScratchFolder scratch;
  write_file(scratch / "a.dada", noise_file(random, 0, 1));
  const std::string quiet = noise_file(random, 5, 1);
  std::string loud = noise_file(random, 1, 1.5);
  write_file(scratch / "b.dada",
             quiet.substr(0, quiet.size() / 2 / 6 * 6) + loud.substr(quiet.size() / 2 / 6 * 6));
  for (const double start_s : {0.0, 0.05, 0.1, 0.11}) {
    const CommandResult result =
        run_command({"--json", "correlate", scratch / "a.dada", scratch / "b.dada", "-o",
                     scratch / "v.uvh5", "--overwrite", "--channels", "16", "--integration", "0.05",
                     "--start", std::to_string(start_s)},
                    scratch.path().string());
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto summary = documented_in(result.out, "tautline.correlate");
    ASSERT_EQ(summary["level_steps"].size(), 1u) << start_s << summary["level_steps"];
    EXPECT_NEAR(summary["level_steps"][0]["time_s"].get<double>(), 0.55, 0.005) << start_s;
  }
}

}  // namespace
}  // namespace tautline::tests
