// Joins of files: which of them are steps of level.
#include "tautline/pipeline/search/level_steps.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/pipeline/search/joined_files.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using Samples = std::vector<std::uint64_t>;

}  // namespace

// Steps of every width and kind, with means and gains that differ from channel to channel, and a level that drifts.
TEST(LevelSteps, NoiseHasNone) {
  auto random = tests::generator();
  for (const std::size_t channels : {1, 2, 3, 10, 64})
    for (const int bits : {1, 8, 32}) {
      const std::uint64_t times = 256 + random() % 500;
      const double slope = 3e-6 * static_cast<double>(random() % 1000) / 1000;
      JoinedFiles files(channels, 60, times, bits, random,
                        [&](std::uint64_t t, std::size_t c, double noise) {
                          const double level = 0.2 * std::sin(static_cast<double>(c));
                          return level + slope * static_cast<double>(t) +
                                 noise * (1 + 0.5 * std::cos(static_cast<double>(c)));
                        });
      EXPECT_EQ(steps_of(files), Samples{}) << channels << " channels of " << bits << " bits";
    }
}

TEST(LevelSteps, OfAllChannelsAndOfHalfOfThemAreFound) {
  auto random = tests::generator();
  constexpr std::uint64_t kTimes = 3000;
  const auto find = [&](std::size_t channels, const JoinedFiles::Value& value) {
    JoinedFiles files(channels, 4, kTimes, 8, random, value);
    return steps_of(files);
  };
  const auto file = [](std::uint64_t t) { return t / kTimes; };
  // A tenth of a channel's noise, which a search would take for a pulse.
  const auto faint = [&](std::uint64_t t, std::size_t, double noise) {
    return noise + (file(t) >= 2 ? 0.1 : 0);
  };
  EXPECT_EQ(find(256, faint), Samples{2 * kTimes});
  // Up in one channel, down in the next, as gains that a receiver sets again.
  const auto mixed = [&](std::uint64_t t, std::size_t c, double noise) {
    return noise + (file(t) == 1 ? c % 2 ? 2 : -2 : 0);
  };
  EXPECT_EQ(find(32, mixed), (Samples{kTimes, 2 * kTimes}));
  EXPECT_EQ(find(1, mixed), (Samples{kTimes, 2 * kTimes}));
  // The same mean, another standard deviation.
  const auto gain = [&](std::uint64_t t, std::size_t, double noise) {
    return noise * (file(t) == 3 ? 2 : 1);
  };
  EXPECT_EQ(find(32, gain), Samples{3 * kTimes});
  JoinedFiles bits(256, 4, kTimes, 1, random, faint);
  EXPECT_EQ(steps_of(bits), Samples{2 * kTimes});
}

TEST(LevelSteps, PulsesBadChannelsAndShortFilesHaveNone) {
  auto random = tests::generator();
  constexpr std::uint64_t kTimes = 4096;
  // Bright in all channels, as long as three quarters of what is looked at on a side, and cut by the join or not.
  for (const std::uint64_t length : {1u, 50u, 1000u, 3000u})
    for (const std::uint64_t before : {std::uint64_t{0}, length / 2, length}) {
      JoinedFiles pulse(24, 2, kTimes, 32, random, [&](std::uint64_t t, std::size_t, double noise) {
        const bool on = t + before >= kTimes && t + before < kTimes + length;
        return noise + (on ? 100 : 0);
      });
      EXPECT_EQ(steps_of(pulse), Samples{}) << length << ' ' << before;
    }
  JoinedFiles bad(24, 2, kTimes, 8, random, [&](std::uint64_t t, std::size_t c, double noise) {
    return noise + (c == 5 && t >= kTimes ? 10 : 0);
  });
  EXPECT_EQ(steps_of(bad), Samples{});
  // One of two is half of them, unless it is left out.
  JoinedFiles two(2, 2, kTimes, 8, random, [&](std::uint64_t t, std::size_t c, double noise) {
    return noise + (c == 1 && t >= kTimes ? 10 : 0);
  });
  EXPECT_EQ(steps_of(two), Samples{kTimes});
  EXPECT_EQ(steps_of(two, 0, {1}), Samples{});
  // 256 spectra on either side are enough, fewer are not.
  const auto step = [](std::uint64_t t, std::size_t, double noise) {
    return noise + (t >= kTimes ? 5 : 0);
  };
  JoinedFiles files(24, 2, kTimes, 8, random, step);
  EXPECT_EQ(steps_of(files, kTimes - 256), Samples{kTimes});
  EXPECT_EQ(steps_of(files, kTimes - 255), Samples{});
  // Without noise nobody knows what a step is; padding is found by itself.
  JoinedFiles padded(24, 2, kTimes, 8, random, [](std::uint64_t t, std::size_t, double noise) {
    return t >= kTimes ? 0 : 3 + noise;
  });
  EXPECT_EQ(steps_of(padded), Samples{});
  JoinedFiles broken(24, 2, kTimes, 32, random, [&](std::uint64_t t, std::size_t c, double noise) {
    return (t + c) % 7 == 0 ? NAN : step(t, c, noise);
  });
  EXPECT_EQ(steps_of(broken), Samples{kTimes});
}

// Padding before, behind and around the join, near it, and longer than what is looked at without any. A level that
// drifts goes on behind it.
TEST(LevelSteps, NearPaddingAreThoseOfTheDataAroundIt) {
  auto random = tests::generator();
  constexpr std::uint64_t kTimes = 12000;
  const std::vector<SampleRange> paddings{
      {kTimes - 1000, 1000}, {kTimes, 1000},         {kTimes - 300, 900}, {kTimes - 2500, 2000},
      {kTimes + 700, 20},    {kTimes - 10000, 9990}, {kTimes + 5000, 100}};
  for (const SampleRange& padding : paddings) {
    const std::uint64_t end = padding.first + padding.count;
    const auto data = [&](double step, double slope) {
      return [=](std::uint64_t t, std::size_t, double noise) {
        if (t >= padding.first && t < end) return -50.0;
        return noise + slope * static_cast<double>(t) + (t >= kTimes ? step : 0);
      };
    };
    const bool around = padding.first < kTimes && end > kTimes;
    JoinedFiles steps(64, 2, kTimes, 8, random, data(2, 0));
    EXPECT_EQ(steps_of(steps), Samples{around ? end : kTimes})
        << padding.count << " from " << padding.first;
    JoinedFiles drifts(64, 2, kTimes, 32, random, data(0, 2e-4));
    EXPECT_EQ(steps_of(drifts), Samples{}) << padding.count << " from " << padding.first;
  }
  // Too little data between the join and the file's end.
  JoinedFiles little(64, 2, kTimes, 8, random, [](std::uint64_t t, std::size_t, double noise) {
    return t >= kTimes + 250 ? -50 : noise + (t >= kTimes ? 2 : 0);
  });
  EXPECT_EQ(steps_of(little), Samples{});
}

TEST(LevelSteps, CutTheirSegment) {
  std::vector<PlacedRange> segments{{{10, 100}, 10}, {{110, 50}, 200}};
  split_at_steps({{40, "a", "b"}, {60, "b", "c"}, {220, "d", "e"}}, segments);
  const std::vector<std::array<std::uint64_t, 3>> expected{
      {10, 30, 10}, {40, 20, 40}, {60, 50, 60}, {110, 20, 200}, {130, 30, 220}};
  ASSERT_EQ(segments.size(), expected.size());
  for (std::size_t k = 0; k < segments.size(); ++k)
    EXPECT_EQ(
        (std::array{segments[k].range.first, segments[k].range.count, segments[k].grid_first}),
        expected[k]);
}

}  // namespace tautline::pipeline
