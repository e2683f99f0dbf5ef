// A signal in one channel that comes and goes: rounding clips it, which the shares of whole inputs do not tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class ClippedChannels : public ::testing::Test {
 protected:
  static constexpr std::size_t kChannels = 64, kSpectra = 12800, kInputs = 4;
  static constexpr std::size_t kOfGains = 1100;  // spectra, without the carrier

  // Complex bytes of noise, and in input 2 a carrier, 8 times as strong as the noise of its channel, for so many twentieths
  // of the time.
  void write_voltages(std::size_t twentieths) {
    DadaFile file;
    file.payload_bytes = 0;
    std::string bytes = file.bytes();
    std::normal_distribution<double> normal(0, 5);
    const std::size_t burst = kChannels * std::uniform_int_distribution<std::size_t>(3, 6)(random);
    const double turn = 2 * std::numbers::pi *
                        (static_cast<double>(channel) - static_cast<double>(kChannels) / 2) /
                        static_cast<double>(kChannels);
    for (std::size_t t = 0; t < kChannels * kSpectra; ++t)
      for (std::size_t input = 0; input < kInputs; ++input) {
        const bool on = input == 2 && t > kChannels * kOfGains && t / burst % 20 < twentieths;
        const double amplitude = on ? 8 * 5 * std::sqrt(2.0 / kChannels) : 0,
                     angle = turn * static_cast<double>(t % kChannels);
        for (const double part : {std::cos(angle), std::sin(angle)})
          bytes += static_cast<char>(
              std::clamp(std::round(amplitude * part + normal(random)), -127.0, 127.0));
      }
    write_file(scratch / "x.dada", bytes);
  }
  std::vector<std::string> words(const std::string& command, const std::string& bits,
                                 const std::string& device = "auto") const {
    return {"--device",     device,
            command,        scratch / "x.dada",
            "-o",           scratch / (command == "correlate" ? "v.uvh5" : "x.npy"),
            "--channels",   std::to_string(kChannels),
            "--requantize", bits,
            "--overwrite"};
  }
  CommandResult run(const std::vector<std::string>& arguments) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;  // no damage of the input
    return result;
  }
  std::string pipeline() {
    write_file(scratch / "p.toml", correlate_pipeline(scratch / "x.dada", scratch / "p.uvh5",
                                                      "channels = " + std::to_string(kChannels) +
                                                          "\nrequantise = 8\n"));
    return scratch / "p.toml";
  }

  std::mt19937_64 random = generator();
  const std::size_t channel = std::uniform_int_distribution<std::size_t>(1, kChannels - 1)(random);
  const ScratchFolder scratch;
};

constexpr const char* kText = "bits clipped so many values";

TEST_F(ClippedChannels, OfACarrierThatComesAndGoesAreNamed) {
  write_voltages(1);
  const std::string named = std::string(kText) + " that the power is too low, in channel " +
                            std::to_string(channel) + " of input 1x (";
  for (const std::string command : {"correlate", "channelize"})
    for (const std::string device : {"cpu", "reference"}) {
      std::vector<std::string> json = words(command, "8", device);
      json.insert(json.begin(), "--json");
      const CommandResult result = run(json);
      EXPECT_NE(result.err.find("rounding to 8 " + named), std::string::npos)
          << device << result.err;
      EXPECT_EQ(result.err.find("`settle"), std::string::npos) << "the command's words";
      const auto clipped = documented_in(result.out, "tautline." + command)["clipped_channels"];
      ASSERT_EQ(clipped.size(), 1U) << device << clipped;
      EXPECT_EQ(clipped[0]["channel"], channel);
      EXPECT_EQ(clipped[0]["input"], 2);
      EXPECT_NEAR(clipped[0]["share"].get<double>(), 0.028, 0.02);
    }
  EXPECT_EQ(run(words("correlate", "off")).err.find(kText), std::string::npos);
  EXPECT_NE(
      run({"run", pipeline()}).err.find("in channel " + std::to_string(channel) + " of input 2 ("),
      std::string::npos);
}

// Noise of 4 bits has 2.9 % of its values at the ends.
TEST_F(ClippedChannels, OfFourBits) {
  write_voltages(5);
  std::vector<std::string> json = words("channelize", "4");
  json.insert(json.begin(), "--json");
  const CommandResult result = run(json);
  EXPECT_NE(result.err.find(std::string("rounding to 4 ") + kText), std::string::npos)
      << result.err;
  const auto clipped = nlohmann::json::parse(result.out)["clipped_channels"];
  ASSERT_FALSE(clipped.empty());
  const auto most = std::ranges::max_element(
      clipped, {}, [](const nlohmann::json& one) { return one["share"].get<double>(); });
  EXPECT_EQ((*most)["channel"], channel);
  EXPECT_EQ((*most)["input"], 2);
}

TEST_F(ClippedChannels, OfNoiseAreNone) {
  write_voltages(0);
  for (const std::string command : {"correlate", "channelize"})
    for (const std::string bits : {"8", "4"})
      EXPECT_EQ(run(words(command, bits)).err.find(kText), std::string::npos) << command << bits;
  EXPECT_EQ(run({"run", pipeline()}).err.find(kText), std::string::npos);
}

}  // namespace
}  // namespace tautline::tests
