// The demonstration's commands on 0.3 s of data: each does what it says, and its JSON has the
// fields that the guide lists. Then options of correlate's filter bank and of which part it reads.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class Demo : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& arguments) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, 0) << arguments.front() << ": " << result.err;
    return result;
  }
  // The one object that the command prints, whose fields are those of `schema` in the guide.
  nlohmann::json json(std::vector<std::string> arguments, const std::string& schema) {
    arguments.insert(arguments.begin(), "--json");
    return documented_in(run(arguments).out, schema);
  }
  std::vector<std::complex<float>> correlate(const std::vector<std::string>& more,
                                             const std::string& input = "in.dada") {
    std::vector<std::string> arguments{"correlate",   scratch / input, "-o", scratch / "v.uvh5",
                                       "--overwrite", "--channels",    "16", "--integration",
                                       "0.005",       "--requantize",  "off"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run(arguments);
    const auto reader = formats::open_visibilities(scratch / "v.uvh5");
    middles = reader->middles();
    std::vector<std::complex<float>> values;
    for (std::size_t k = 0; k < reader->integrations(); ++k) {
      const formats::Integration one = reader->read(k);
      for (std::size_t c = 0; c < one.visibilities.extent(0); ++c)
        for (std::size_t b = 0; b < one.visibilities.extent(1); ++b)
          values.push_back(one.visibilities(c, b));
    }
    return values;
  }
  ScratchFolder scratch;
  std::vector<core::Instant> middles;  // of what was correlated last
};

TEST_F(Demo, ItsCommandsAgreeWithTheTruthAndSayWhatTheGuideLists) {
  const std::string folder = source_folder() + "/examples/demo/";
  const auto simulated =
      json({"simulate", "voltages", "--array", folder + "array.toml", "--scene",
            folder + "scene.toml", "--duration", "0.3", "--seed", "1", "-o", scratch / "demo.dada"},
           "tautline.simulate.voltages");
  EXPECT_EQ(simulated["samples"], 384000);
  const auto correlated =
      json({"--device", "auto", "correlate", scratch / "demo.dada", "--array",
            folder + "array.toml", "--channels", "128", "--taps", "8", "--integration", "0.1", "-o",
            scratch / "demo.uvh5", "--report", scratch / "demo.html"},
           "tautline.correlate");
  EXPECT_EQ(correlated["inputs"], 64);
  EXPECT_EQ(correlated["channels"], 128);
  EXPECT_EQ(correlated["integrations"], 3);
  for (const auto& share : correlated["devices"])
    EXPECT_EQ(keys_of(share), (Keys{"device", "sent_bytes"}));
  // The page is whole and holds its data and its scripts.
  const std::string page = read_file(scratch / "demo.html");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find("</html>"), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_NE(page.find("demonstration array"), std::string::npos);
  EXPECT_GT(page.size(), 100000U);

  const auto compared =
      json({"compare", scratch / "demo.uvh5", scratch / "demo.truth.json"}, "tautline.compare");
  EXPECT_EQ(compared["agrees"], true) << compared["verdict"];
  EXPECT_NEAR(compared["power_ratio"], 1, 0.02);
  EXPECT_NE(run({"compare", scratch / "demo.uvh5", scratch / "demo.truth.json"})
                .out.find("Closure phases"),
            std::string::npos);

  const auto visibilities =
      json({"inspect", scratch / "demo.uvh5"}, "tautline.inspect.visibilities");
  EXPECT_EQ(visibilities["integrations"], 3);
  EXPECT_DOUBLE_EQ(visibilities["first_channel_hz"], 1420.4e6 - 64 * 1e4);
  const auto voltages = json({"inspect", scratch / "demo.dada"}, "tautline.inspect.voltages");
  EXPECT_EQ(voltages["samples"], 384000);
  json({"report", scratch / "demo.uvh5", "-o", scratch / "again.html"}, "tautline.report");
  const auto channelized =
      json({"channelize", scratch / "demo.dada", "-o", scratch / "c.dada", "--duration", "0.01"},
           "tautline.channelize");
  EXPECT_EQ(channelized["samples"], 12800);
}

// Against the prototype as the maths page writes it, given as the user's own coefficients.
TEST_F(Demo, CutoffAndCoefficientsAreTheFilterOfTheFormula) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  constexpr std::size_t kChannels = 16, kTaps = 4, kLength = kChannels * kTaps;
  constexpr double kCutoff = 0.8;
  std::vector<double> h(kLength);
  double squares = 0;
  for (std::size_t n = 0; n < kLength; ++n) {
    const double middle = static_cast<double>(n) - (kLength - 1) / 2.0;
    const double phase = std::numbers::pi * kCutoff * middle / kChannels;  // never 0
    const double turn = 2 * std::numbers::pi * (static_cast<double>(n) + 0.5) / kLength;
    h[n] = std::sin(phase) / phase * (0.5 - 0.5 * std::cos(turn));
    squares += h[n] * h[n];
  }
  std::ostringstream text;
  text.precision(9);
  for (const double value : h) text << value / std::sqrt(squares) << "\n";
  write_file(scratch / "h.txt", text.str());
  const auto designed = correlate({"--taps", "4", "--cutoff", "0.8"});
  const auto given = correlate({"--taps", "4", "--coefficients", scratch / "h.txt"});
  const auto otherwise = correlate({"--taps", "4"});
  ASSERT_EQ(designed.size(), given.size());
  ASSERT_EQ(designed.size(), otherwise.size());
  double largest = 0, off = 0, changed = 0;
  for (std::size_t k = 0; k < designed.size(); ++k) {
    largest = std::max(largest, static_cast<double>(std::abs(designed[k])));
    off = std::max(off, static_cast<double>(std::abs(designed[k] - given[k])));
    changed = std::max(changed, static_cast<double>(std::abs(designed[k] - otherwise[k])));
  }
  EXPECT_LT(off, 1e-5 * largest);
  EXPECT_GT(changed, 1e-3 * largest);
}

TEST_F(Demo, StartAndDurationAreThatPartOfTheFile) {
  constexpr std::size_t kFirst = 6400, kSamples = 9600;  // of 20000, 8 bytes each
  const std::string bytes = DadaFile{}.bytes();
  write_file(scratch / "in.dada", bytes);
  std::string part = bytes.substr(0, 4096);
  part.replace(part.find("OBS_OFFSET 0\nFREQ"), 12, "OBS_OFFSET " + std::to_string(8 * kFirst));
  part = part.substr(0, 4096) + bytes.substr(4096 + 8 * kFirst, 8 * kSamples);
  write_file(scratch / "part.dada", part);
  const auto chosen = correlate({"--start", "0.005", "--duration", "0.0075"});
  const auto times = middles;
  const auto alone = correlate({}, "part.dada");
  ASSERT_FALSE(chosen.empty());
  EXPECT_EQ(chosen, alone);
  EXPECT_TRUE(times == middles);
}

}  // namespace
}  // namespace tautline::tests
