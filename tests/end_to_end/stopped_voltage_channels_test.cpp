// Channels of channelized voltages that stop: invalid from their first sample on, and no step of level.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

// Noise of 8 channels of 3 inputs, [channel][input][time]; channel 2 has most of the power.
class StoppedVoltageChannels : public ::testing::Test {
 protected:
  static constexpr std::size_t kChannels = 8, kInputs = 3, kTimes = 60'000, kIntegration = 500;

  StoppedVoltageChannels() : bytes(kChannels * kInputs * kTimes * 2, '\0') {
    std::normal_distribution<double> normal;
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t k = c * kInputs * kTimes * 2; k < (c + 1) * kInputs * kTimes * 2; ++k)
        bytes[k] = static_cast<char>(
            std::clamp(std::round((c == 2 ? 30 : 12) * normal(random)), -127.0, 127.0));
  }
  std::size_t place(std::size_t channel, std::size_t input, std::size_t t) const {
    return ((channel * kInputs + input) * kTimes + t) * 2;
  }
  void stop(std::size_t channel, std::size_t input, std::size_t first, std::size_t end,
            char value) {
    for (std::size_t t = first; t < end; ++t)
      bytes[place(channel, input, t)] = bytes[place(channel, input, t) + 1] = value;
    bytes[place(channel, input, first - 1)] = bytes[place(channel, input, end)] = 99;
  }
  nlohmann::json correlated(const std::vector<std::string>& more = {}) {
    write_file(scratch / "c.npy",
               formats::npy::format_header("|i1", {kChannels, kInputs, kTimes, 2}) + bytes);
    std::vector<std::string> words{
        "--json",           "correlate",
        scratch / "c.npy",  "-o",
        scratch / "c.uvh5", "--overwrite",
        "--format",         "ci8",
        "--rate-hz",        "10000",
        "--centre-hz",      "1e8",
        "--integration",    std::to_string(static_cast<double>(kIntegration) / 1e4)};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out);
  }

  std::mt19937_64 random = generator();
  std::string bytes;
  ScratchFolder scratch;
};

TEST_F(StoppedVoltageChannels, CountFromTheirFirstSampleOn) {
  const std::size_t first = 5'000 + random() % 20'000, length = 600 + random() % 20'000;
  stop(5, 1, first, first + length, static_cast<char>(random() % 3));
  const auto summary = correlated();
  EXPECT_EQ(summary["empty_values"], length);
  EXPECT_EQ(summary["empty_channels"],
            nlohmann::json({{{"channel", 5}, {"input", 1}, {"samples", length}}}));
  EXPECT_EQ(summary["empty_samples"], 0);
  const auto reader = formats::open_visibilities(scratch / "c.uvh5");
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const formats::Integration one = reader->read(k);
    const std::size_t begin = k * kIntegration, end = begin + kIntegration;
    const std::size_t from = std::max(begin, first), to = std::min(end, first + length),
                      empty = to > from ? to - from : 0;
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t i = 0, baseline = 0; i < kInputs; ++i)
        for (std::size_t j = 0; j <= i; ++j, ++baseline)
          EXPECT_EQ(
              one.counts(c, baseline),
              static_cast<std::int64_t>(kIntegration - (c == 5 && (i == 1 || j == 1) ? empty : 0)))
              << k << ": " << c << " " << i << " " << j;
  }
}

// Packets of 256 spectra x 4 channels of an antenna, written as zeros by the recorder.
TEST_F(StoppedVoltageChannels, LostPacketsHaveNoWeight) {
  std::vector<std::int64_t> lost(kTimes / kIntegration);
  std::int64_t values = 0;
  for (std::size_t first = 1'000; first + 256 < kTimes; first += 300 + random() % 3'000) {
    for (std::size_t c = 2; c < 6; ++c) stop(c, 1, first, first + 256, 0);
    for (std::size_t t = first; t < first + 256; ++t) ++lost[t / kIntegration];
    values += 4 * 256;
  }
  const auto summary = correlated();
  EXPECT_EQ(summary["empty_values"], values);
  ASSERT_EQ(summary["empty_channels"].size(), 4u);
  const CommandResult said =
      run_command({"correlate", scratch / "c.npy", "-o", scratch / "said.uvh5", "--format", "ci8",
                   "--rate-hz", "10000", "--centre-hz", "1e8", "--integration", "0.05"},
                  scratch.path().string());
  const std::string number = std::to_string(values);
  EXPECT_NE(
      said.err.find(fmt::format("channels 2 to 5 of input 1x for {} samples ({} values in all)",
                                values / 4, number)),
      std::string::npos)
      << said.err;
  EXPECT_NE(said.out.find(" 0 empty and " + number + " values of single channels, "),
            std::string::npos)
      << said.out;
  const auto reader = formats::open_visibilities(scratch / "c.uvh5");
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const formats::Integration one = reader->read(k);
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t i = 0, baseline = 0; i < kInputs; ++i)
        for (std::size_t j = 0; j <= i; ++j, ++baseline)
          EXPECT_EQ(one.counts(c, baseline),
                    static_cast<std::int64_t>(kIntegration) -
                        (c >= 2 && c < 6 && (i == 1 || j == 1) ? lost[k] : 0))
              << k << ": " << c << " " << i << " " << j;
  }
}

TEST_F(StoppedVoltageChannels, AreNoStepsOfLevel) {
  const std::size_t first = 15'000 + random() % 5'000, end = 35'000 + random() % 5'000;
  stop(2, 1, first, end, 0);
  EXPECT_EQ(correlated()["level_steps"], nlohmann::json::array());
  // The gain of another input steps where the channel stops.
  for (std::size_t c = 0; c < kChannels; ++c)
    for (std::size_t k = place(c, 0, first); k < place(c, 0, kTimes); ++k)
      bytes[k] = static_cast<char>(bytes[k] / 2);
  const auto steps = correlated()["level_steps"];
  ASSERT_EQ(steps.size(), 1u) << steps;
  ASSERT_EQ(steps[0]["inputs"].size(), 1u) << steps;
  EXPECT_EQ(steps[0]["inputs"][0]["input"], 0);
}

}  // namespace
}  // namespace tautline::tests
