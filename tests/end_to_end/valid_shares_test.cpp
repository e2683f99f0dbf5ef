// Voltages of which nothing is valid, and inputs whose short stops leave no valid spectrum, are said to be so.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/command_test.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kShareInputs = 2, kShareTimes = 120'000;
const std::string kNoSpectrum = "no spectrum of any input is valid";

/// Complex samples of 8 bits, [input][time], 1 MHz.
class ValidSharesOfRuns : public CommandTest {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    auto random = generator();
    for (char& byte : voltages) byte = static_cast<char>(random() % 61) - 30;
  }
  void stop(std::size_t input, std::size_t first, std::size_t samples) {
    const std::size_t at = (input * kShareTimes + first) * 2;
    std::fill_n(voltages.begin() + static_cast<std::ptrdiff_t>(at), samples * 2, '\0');
  }
  void write() {
    write_file(scratch / "x.npy",
               formats::npy::format_header("|i1", {kShareInputs, kShareTimes, 2}) + voltages);
  }
  CommandResult process(const std::string& command, const std::string& output,
                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        command,       scratch / "x.npy", "-o",      scratch / output, "--format", "ci8",
        "--overwrite", "--rate-hz",       "1000000", "--centre-hz",    "1e9"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  std::string voltages = std::string(kShareInputs * kShareTimes * 2, '\0');
};

TEST_F(ValidSharesOfRuns, ZerosAloneAreNoDataToProcess) {
  for (std::size_t i = 0; i < kShareInputs; ++i) stop(i, 0, kShareTimes);
  write();
  const std::string page = scratch / "page.html";
  for (const auto& [command, output, more] :
       {std::tuple{"correlate", "v.uvh5", std::vector<std::string>{"--report", page}},
        {"channelize", "s.npy", std::vector<std::string>{}},
        {"channelize", "s.fil", {"--integrate", "4"}}}) {
    const CommandResult result = process(command, output, more);
    EXPECT_EQ(result.status, kDamaged) << command << result.err;
    EXPECT_NE(result.err.find(kNoSpectrum), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("--keep-constant"), std::string::npos) << result.err;
    std::vector<std::string> strict = more, kept = more;
    strict.emplace_back("--strict");
    EXPECT_EQ(process(command, output, strict).status, kFailed);
    kept.emplace_back("--keep-constant");
    EXPECT_EQ(process(command, output, kept).status, kDone);
  }
  process("correlate", "v.uvh5", {"--report", page});
  EXPECT_NE(read_file(page).find(kNoSpectrum), std::string::npos);
  // The spectra that were made of them, which their record lists as invalid.
  process("channelize", "s.npy");
  const CommandResult of_spectra = run({"correlate", scratch / "s.npy", "-o", scratch / "w.uvh5"});
  EXPECT_EQ(of_spectra.status, kDamaged) << of_spectra.err;
  EXPECT_NE(of_spectra.err.find(kNoSpectrum), std::string::npos) << of_spectra.err;
}

TEST_F(ValidSharesOfRuns, OneInputWithDataIsEnough) {
  stop(1, 0, kShareTimes);
  write();
  for (const auto& [command, output] :
       {std::pair{"correlate", "v.uvh5"}, {"channelize", "s.npy"}}) {
    const CommandResult result = process(command, output);
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_EQ(result.err.find(kNoSpectrum), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("few spectra"), std::string::npos) << result.err;
  }
}

// 200 of every 600 samples: none of the 1,024 in a row that a spectrum of 128 channels and 8 taps takes is without, once
// the noise is known well enough for such short stops to be found.
TEST_F(ValidSharesOfRuns, ShortStopsThatLeaveHardlyASpectrumAreNamed) {
  for (std::size_t first = 100; first + 200 < kShareTimes; first += 600) stop(1, first, 200);
  write();
  const auto names = [](const std::string& text, const std::string& input) {
    return text.find("few spectra of input " + input + " are valid: ") != std::string::npos &&
           text.find(" % of the samples. A spectrum takes 1024 valid samples in a row: fewer ") !=
               std::string::npos;
  };
  const std::string page = scratch / "page.html";
  for (const auto& [command, output, more] :
       {std::tuple{"correlate", "v.uvh5", std::vector<std::string>{"--report", page}},
        {"channelize", "s.npy", std::vector<std::string>{}}}) {
    const CommandResult result = process(command, output, more);
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_TRUE(names(result.err, "1x")) << result.err;
    EXPECT_NE(result.err.find("fewer --taps or channels"), std::string::npos) << result.err;
    const CommandResult shorter = process(command, output, {"--channels", "16", "--taps", "2"});
    EXPECT_EQ(shorter.err.find("few spectra"), std::string::npos) << shorter.err;
  }
  EXPECT_TRUE(names(read_file(page), "1x"));
  write_file(scratch / "p.toml", correlate_pipeline(scratch / "x.npy", scratch / "p.uvh5", ""));
  const CommandResult pipeline = run({"run", scratch / "p.toml", "--set", "voltages.format=ci8",
                                      "--set", "voltages.rate_hz=1MHz"});
  EXPECT_EQ(pipeline.status, kDone) << pipeline.err;
  EXPECT_TRUE(names(pipeline.err, "1")) << pipeline.err;
}

// Samples that are not finite are no valid ones that a shorter filter would keep.
TEST_F(ValidSharesOfRuns, SamplesThatAreNotFiniteAreNotValid) {
  auto random = generator();
  std::normal_distribution<float> noise;
  std::vector<float> values(kShareInputs * kShareTimes * 2);
  for (float& value : values) value = noise(random);
  const auto spoil = [&](std::size_t first, std::size_t samples) {
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>((kShareTimes + first) * 2),
                2 * samples, std::numeric_limits<float>::quiet_NaN());
  };
  const auto write_values = [&] {
    write_file(scratch / "x.npy", formats::npy::format_header("<c8", {kShareInputs, kShareTimes}) +
                                      std::string(reinterpret_cast<const char*>(values.data()),
                                                  values.size() * sizeof(float)));
  };
  const auto correlated = [&] {
    return run({"correlate", scratch / "x.npy", "-o", scratch / "f.uvh5", "--overwrite",
                "--rate-hz", "1000000", "--centre-hz", "1e9"});
  };
  const std::size_t half_way = kShareTimes / 2 - random() % 10'000;
  spoil(half_way, kShareTimes - half_way);
  write_values();
  const CommandResult half = correlated();
  EXPECT_EQ(half.status, kDamaged) << half.err;
  EXPECT_NE(half.err.find("samples were not finite"), std::string::npos) << half.err;
  EXPECT_EQ(half.err.find("few spectra"), std::string::npos) << half.err;
  // A fifth of the rest, again and again: what is left has no valid spectrum.
  for (std::size_t first = 0; first + 100 < half_way; first += 500) spoil(first, 100);
  write_values();
  const CommandResult again = correlated();
  const std::size_t at = again.err.find("few spectra of input 1x are valid: 0 %, with ");
  ASSERT_NE(at, std::string::npos) << again.err;
  const std::size_t with = again.err.find("with ", at) + 5;
  const double share = std::stod(again.err.substr(with));
  EXPECT_GT(share, 30) << again.err;
  EXPECT_LT(share, 41) << again.err;
}

}  // namespace
}  // namespace tautline::tests
