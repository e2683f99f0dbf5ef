// Searches say where the S/N of wide pulses rest on noise that is not white.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class RedNoise : public ::testing::Test {
 protected:
  SigprocShape shape() const {
    SigprocShape shape;
    shape.nchans = 16;
    shape.fch1 = 1500;
    shape.foff = -1;
    shape.tsamp = 1e-3;
    return shape;
  }
  // The summary, and what was said.
  std::pair<nlohmann::json, std::string> search(const std::vector<double>& values,
                                                const std::vector<std::string>& more = {}) {
    write_filterbank(scratch / "x.fil", shape(), values);
    std::vector<std::string> words{"--json", "search",          scratch / "x.fil",
                                   "-o",     scratch / "c.csv", "--overwrite"};
    if (std::ranges::find(more, "--dms") == more.end())
      words.insert(words.end(), {"--dms", "0:10:5"});
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return {json_lines(result.out).back(), result.err};
  }
  static constexpr std::size_t kTimes = 80'000;
  // From the highest to the lowest channel in 750 samples.
  inline static const std::vector<std::string> kSweeping{"--dms", "20000:20010:5"};
  ScratchFolder scratch;
};

// A level that all channels have in common and that wanders within some 100 samples.
TEST_F(RedNoise, ThatMakesWidePulsesIsSaid) {
  auto random = generator();
  auto values = noise_with_pulses(shape(), kTimes, {}, random);
  std::normal_distribution<double> normal;
  double level = 0;
  for (std::size_t t = 0; t < kTimes; ++t) {
    level = 0.99 * level + 0.2 * normal(random);
    for (std::size_t c = 0; c < 16; ++c)
      values[t * 16 + c] = std::round(values[t * 16 + c] + level + 0.5 * normal(random));
  }
  const auto [summary, said] = search(values);
  ASSERT_GT(summary["candidates"], 0);
  EXPECT_GT(summary["noise_of_width"]["excess"], 1.5) << summary;
  EXPECT_GE(summary["noise_of_width"]["width_samples"], 4);
  EXPECT_NE(said.find("times as much as those of white noise"), std::string::npos) << said;
  EXPECT_NE(said.find("--noise width"), std::string::npos) << said;
  EXPECT_NE(said.find("--baseline"), std::string::npos) << said;
  EXPECT_NE(said.find("--zero-dm what all channels have in common"), std::string::npos) << said;
  const auto record = nlohmann::json::parse(read_file(scratch / "c.csv.json"));
  EXPECT_EQ(record["noise_of_width"], summary["noise_of_width"]);
  // With the noise of each width there is nothing to say.
  const auto [by_width, quiet] = search(values, {"--noise", "width"});
  EXPECT_EQ(by_width["noise_of_width"], nullptr);
  EXPECT_EQ(quiet.find("white noise"), std::string::npos) << quiet;
  EXPECT_LT(by_width["candidates"], summary["candidates"]);
  // Where pulses have a sweep, what the filter does is measured.
  const std::string measured = search(values, kSweeping).second;
  EXPECT_NE(measured.find("with --zero-dm the sums scatter"), std::string::npos) << measured;
  for (const std::string& text : {said, measured})
    EXPECT_NE(text.find("Leave --zero-dm out where packets of some channels are lost"),
              std::string::npos)
        << text;
  // Where channels stop, the filter is not advised.
  for (std::size_t t = 10'000 + random() % 10'000, end = t + 300; t < end; ++t)
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(16 * t), 4, 0);
  for (const auto& trials : {std::vector<std::string>{}, kSweeping}) {
    const std::string stopped = search(values, trials).second;
    EXPECT_NE(stopped.find("times as much as those of white noise"), std::string::npos) << stopped;
    EXPECT_NE(stopped.find("--zero-dm is no remedy"), std::string::npos) << stopped;
    EXPECT_EQ(stopped.find("--zero-dm what all channels"), std::string::npos) << stopped;
    EXPECT_EQ(stopped.find("with --zero-dm the sums"), std::string::npos) << stopped;
  }
}

// Each channel's own: the zero-DM filter does not help.
TEST_F(RedNoise, ThatChannelsDoNotHaveInCommonPointsToNoZeroDm) {
  auto random = generator();
  auto values = noise_with_pulses(shape(), kTimes, {}, random);
  std::normal_distribution<double> normal;
  std::array<double, 16> level{};
  for (std::size_t t = 0; t < kTimes; ++t)
    for (std::size_t c = 0; c < 16; ++c) {
      level[c] = 0.99 * level[c] + 0.8 * normal(random);
      values[t * 16 + c] = std::round(values[t * 16 + c] + level[c]);
    }
  const auto [summary, said] = search(values, kSweeping);
  ASSERT_GT(summary["candidates"], 0);
  EXPECT_GT(summary["noise_of_width"]["excess"], 1.5) << summary;
  EXPECT_NE(said.find("times as much as those of white noise"), std::string::npos) << said;
  EXPECT_EQ(said.find("--zero-dm"), std::string::npos) << said;
}

TEST_F(RedNoise, IsNotSaidOfPulsesInWhiteNoise) {
  auto random = generator();
  std::vector<NoisePulse> pulses;
  for (std::size_t k = 0; k < 60; ++k) pulses.push_back({0, 30'000 + k, 6});
  const auto [summary, said] = search(noise_with_pulses(shape(), kTimes, pulses, random));
  ASSERT_GT(summary["candidates"], 0);
  ASSERT_TRUE(summary["noise_of_width"].is_object()) << summary;
  EXPECT_LT(summary["noise_of_width"]["excess"], 1.5);
  EXPECT_EQ(said.find("white noise"), std::string::npos) << said;
}

// A broad faint pulse in white noise, beside zeros at the file's end, between masked intervals, or beside a stop of most
// channels.
TEST_F(RedNoise, IsNotSaidOfTimesWithoutData) {
  auto random = generator();
  std::vector<NoisePulse> pulses;
  for (std::size_t k = 0; k < 60; ++k) pulses.push_back({0, 30'000 + k, 6});
  auto values = noise_with_pulses(shape(), kTimes, pulses, random);
  MaskFile mask{1485, 1, 1e-3, 16, 80, 1000, {}, {}};
  for (std::int32_t k = 1; k < 80; k += 2) mask.zapped_intervals.push_back(k);
  write_file(scratch / "x.mask", mask.bytes());
  const auto expect_white = [&](const std::vector<std::string>& more) {
    const auto [summary, said] = search(values, more);
    ASSERT_TRUE(summary["noise_of_width"].is_object()) << summary;
    EXPECT_NEAR(summary["noise_of_width"]["excess"], 1, 0.3) << summary["noise_of_width"];
    EXPECT_EQ(said.find("white noise"), std::string::npos) << said;
  };
  expect_white({"--mask", scratch / "x.mask"});
  const auto without = values;
  for (std::size_t t = 33'000; t < 53'000; ++t)
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(16 * t), 12, 0);
  expect_white({});
  values = without;
  std::fill(values.end() - 16 * 48'700, values.end(), 0);
  expect_white({});
}

// Half of the channels stop again and again for as short a time as is found: the samples that are read again are
// cleaned as those of the search.
TEST_F(RedNoise, IsNotSaidOfChannelsThatStopForAWhile) {
  auto random = generator();
  std::vector<NoisePulse> pulses;
  for (std::size_t k = 0; k < 60; ++k) pulses.push_back({0, 30'000 + k, 6});
  auto values = noise_with_pulses(shape(), kTimes, pulses, random);
  for (std::size_t first = 100; first + 300 < kTimes; first += 250 + random() % 50)
    for (std::size_t t = first; t < first + 80; ++t)
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(16 * t), 8, 0);
  const auto [summary, said] = search(values);
  ASSERT_TRUE(summary["noise_of_width"].is_object()) << summary;
  EXPECT_NEAR(summary["noise_of_width"]["excess"], 1, 0.3) << summary["noise_of_width"];
  EXPECT_EQ(said.find("white noise"), std::string::npos) << said;
}

}  // namespace
}  // namespace tautline::tests
