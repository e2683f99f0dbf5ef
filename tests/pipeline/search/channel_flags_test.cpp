// Bad channels among good ones.
#include "tautline/pipeline/search/channel_flags.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/pipeline/search/joined_files.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

// Statistics as a smooth band of `channels` gives them.
ChannelStatistics band(std::size_t channels, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  ChannelStatistics s;
  for (std::size_t c = 0; c < channels; ++c) {
    const double course = 1 + 0.3 * std::sin(static_cast<double>(c) * 0.01);
    s.mean.push_back(96 * course + 0.2 * normal(random));
    s.deviation.push_back(16 * course + 0.1 * normal(random));
    s.kurtosis.push_back(0.03 + 0.0003 * normal(random));
  }
  return s;
}

TEST(ChannelFlags, FindWhatStandsOutAndNothingElse) {
  auto random = tests::generator();
  ChannelStatistics s = band(512, random);
  s.deviation[10] = 0;  // dead
  s.mean[50] += 20;     // a carrier
  s.deviation[51] *= 2;
  s.kurtosis[300] = 0.05;  // bursts
  s.mean[400] += 50;       // left out already
  const ChannelFlags flags = flag_channels(s, {400}, {});
  for (const std::size_t bad : {10u, 50u, 51u, 300u})
    EXPECT_TRUE(std::find(flags.bad.begin(), flags.bad.end(), bad) != flags.bad.end()) << bad;
  // One more in 2 % of runs (at the band's edges fewer neighbours tell), five more in 1e-10.
  EXPECT_LE(flags.bad.size(), 8u);
  EXPECT_TRUE(std::find(flags.bad.begin(), flags.bad.end(), 400u) == flags.bad.end());
  EXPECT_EQ(flags.dead, 1u);
  EXPECT_GE(flags.level, 2u);
  EXPECT_GE(flags.kurtosis, 1u);
}

TEST(ChannelFlags, ConstantDataAreDeadAndNothingIsDividedByZero) {
  const ChannelStatistics s{std::vector<double>(16, 7.0), std::vector<double>(16, 0.0),
                            std::vector<double>(16, 0.0)};
  const ChannelFlags flags = flag_channels(s, {}, {});
  EXPECT_EQ(flags.bad.size(), 16u);
  EXPECT_EQ(flags.dead, 16u);
}

// Sixteen channels stop together again and again, alone or with all others: none is flagged, nor are those beside them.
TEST(ChannelFlags, DoNotLookAtWhatStops) {
  auto random = tests::generator();
  constexpr std::size_t kChannels = 64;
  const std::size_t first = 8 + random() % 32;
  for (const bool all : {false, true}) {
    JoinedFiles files(kChannels, 1, 40'000, 8, random,
                      [&](std::uint64_t t, std::size_t c, double noise) {
                        const bool stops = t % 1000 >= 400 && t % 1000 < 700;
                        return stops && (all || (c >= first && c < first + 16)) ? -50 : noise;
                      });
    const SampleRange range{0, 40'000};
    const ChannelFlagLimits limits;
    const auto flagged = [&](bool keep_constant) {
      return flag_channels(measure_channels(files, range, {}, keep_constant, limits), {}, limits)
          .bad.size();
    };
    // One more in some per cent of runs, and each further one ten times rarer.
    EXPECT_LE(flagged(false), 8u) << all;
    if (!all) {
      EXPECT_GE(flagged(true), 12u);
    }
  }
}

}  // namespace
}  // namespace tautline::pipeline
