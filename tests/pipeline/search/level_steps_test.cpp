// Joins of files: which of them are steps of level.
#include "tautline/pipeline/search/level_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

// Files of the same length in memory, one after the other.
class JoinedFiles final : public formats::FilterbankReader {
 public:
  using Value = std::function<double(std::uint64_t time, std::size_t channel, double noise)>;
  /// `value` makes a sample of normal noise. `bits`: 1, 8, or 32 (floats).
  JoinedFiles(std::size_t channels, std::uint64_t files, std::uint64_t times, int bits,
              std::mt19937_64& random, const Value& value) {
    description_.channels = channels;
    description_.bits = bits;
    description_.delivered = bits == 32 ? formats::Delivered::f32 : formats::Delivered::u8;
    description_.rate_hz = core::make_rational(1000, 1);
    description_.samples = files * times;
    segments_ = {{0, files * times, {}, 0}};
    for (std::uint64_t k = 1; k < files; ++k)
      joins_.push_back({k * times, std::to_string(k - 1), std::to_string(k)});
    std::normal_distribution<double> normal;
    for (std::uint64_t t = 0; t < files * times; ++t)
      for (std::size_t c = 0; c < channels; ++c) {
        const double x = value(t, c, normal(random));
        values_.push_back(
            static_cast<float>(bits == 32  ? x
                               : bits == 1 ? x > 0
                                           : std::clamp(std::round(100 + 6 * x), 0.0, 255.0)));
      }
  }
  std::size_t read(std::uint64_t first, std::size_t count, std::span<std::byte> to) override {
    if (first >= description_.samples) return 0;
    const std::size_t channels = description_.channels;
    count = std::min<std::size_t>({count, 100, description_.samples - first});
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>(first * channels);
    const auto end = from + static_cast<std::ptrdiff_t>(count * channels);
    if (description_.delivered == formats::Delivered::f32)
      std::memcpy(to.data(), &*from, count * channels * sizeof(float));
    else
      std::transform(from, end, to.begin(), [](float x) { return static_cast<std::byte>(x); });
    return count;
  }

 private:
  std::vector<float> values_;
};

std::vector<std::uint64_t> steps_of(JoinedFiles& files, std::uint64_t first = 0,
                                    const std::vector<std::size_t>& left_out = {}) {
  std::vector<std::uint64_t> samples;
  const SampleRange range{first, files.description().samples - first};
  for (const LevelStep& step : find_level_steps(files, {{range, first}}, left_out))
    samples.push_back(step.sample);
  return samples;
}

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

// Up at one place and down at another, of one file or of the second of two; a drift, waves, long pulses and a level that
// is switched are none.
TEST(LevelSteps, InsideFilesAreFoundWhereTheLevelStays) {
  auto random = tests::generator();
  constexpr std::uint64_t kTimes = 30'000;
  const std::uint64_t up = 6000 + random() % 8000, down = up + 5000 + random() % 5000;
  const auto find = [&](std::size_t channels, int bits, const JoinedFiles::Value& value) {
    JoinedFiles files(channels, 2, kTimes, bits, random, value);
    return steps_of(files);
  };
  for (const std::uint64_t first : {std::uint64_t{0}, kTimes})
    for (const int bits : {1, 8, 32}) {
      const auto found = find(24, bits, [&](std::uint64_t t, std::size_t c, double noise) {
        const bool on = t >= first + up && t < first + down;
        return noise + 1e-6 * static_cast<double>(t) + (on && c < 18 ? 1 : 0);
      });
      ASSERT_EQ(found.size(), 2u) << bits;
      EXPECT_NEAR(static_cast<double>(found[0]), static_cast<double>(first + up), 20);
      EXPECT_NEAR(static_cast<double>(found[1]), static_cast<double>(first + down), 20);
    }
  EXPECT_EQ(find(24, 32,
                 [&](std::uint64_t t, std::size_t, double noise) {
                   const auto time = static_cast<double>(t);
                   return noise + 1e-4 * time + std::sin(time / 3000);
                 }),
            Samples{});
  for (const std::uint64_t length : {1u, 50u, 1000u, 3000u})
    EXPECT_EQ(find(24, 32,
                   [&](std::uint64_t t, std::size_t, double noise) {
                     return noise + (t >= up && t < up + length ? 20 : 0);
                   }),
              Samples{})
        << length;
  EXPECT_EQ(find(24, 32,
                 [&](std::uint64_t t, std::size_t, double noise) {
                   return noise + (t / 1500 % 2 != 0 ? 3 : 0);
                 }),
            Samples{});
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
