// Steps of level and of noise inside files: which changes are steps, and where.
#include "tautline/pipeline/search/steps_inside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tautline/pipeline/search/level_blocks.h"
#include "tautline/pipeline/search/place_step.h"
#include "tests/pipeline/search/joined_files.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using Samples = std::vector<std::uint64_t>;

constexpr std::uint64_t kFileTimes = 30'000;  // of each of two files

Samples steps_in_two(std::size_t channels, int bits, std::mt19937_64& random,
                     const JoinedFiles::Value& value) {
  JoinedFiles files(channels, 2, kFileTimes, bits, random, value);
  return steps_of(files);
}

}  // namespace

// Up at one place and down at another, of one file or of the second of two; a drift, waves, long pulses and a level that
// is switched are none.
TEST(StepsInside, AreFoundWhereTheLevelStays) {
  auto random = tests::generator();
  const std::uint64_t up = 6000 + random() % 8000, down = up + 5000 + random() % 5000;
  for (const std::uint64_t first : {std::uint64_t{0}, kFileTimes})
    for (const int bits : {1, 8, 32}) {
      const auto found =
          steps_in_two(24, bits, random, [&](std::uint64_t t, std::size_t c, double noise) {
            const bool on = t >= first + up && t < first + down;
            return noise + 1e-6 * static_cast<double>(t) + (on && c < 18 ? 1 : 0);
          });
      ASSERT_EQ(found.size(), 2u) << bits;
      EXPECT_NEAR(static_cast<double>(found[0]), static_cast<double>(first + up), 20);
      EXPECT_NEAR(static_cast<double>(found[1]), static_cast<double>(first + down), 20);
    }
  EXPECT_EQ(steps_in_two(24, 32, random,
                         [&](std::uint64_t t, std::size_t, double noise) {
                           const auto time = static_cast<double>(t);
                           return noise + 1e-4 * time + std::sin(time / 3000);
                         }),
            Samples{});
  for (const std::uint64_t length : {1u, 50u, 1000u, 3000u})
    EXPECT_EQ(steps_in_two(24, 32, random,
                           [&](std::uint64_t t, std::size_t, double noise) {
                             return noise + (t >= up && t < up + length ? 20 : 0);
                           }),
              Samples{})
        << length;
  EXPECT_EQ(steps_in_two(24, 32, random,
                         [&](std::uint64_t t, std::size_t, double noise) {
                           return noise + (t / 1500 % 2 != 0 ? 3 : 0);
                         }),
            Samples{});
}

// The same mean: twice or half the noise for a while, in all channels or in three quarters of them.
TEST(StepsInside, OfTheNoiseAreFoundToo) {
  auto random = tests::generator();
  const std::uint64_t up = 6000 + random() % 8000, down = up + 5000 + random() % 5000;
  for (const double factor : {2.0, 0.5, 1.5})
    for (const std::size_t channels : {24u, 18u})
      for (const int bits : {8, 32}) {
        JoinedFiles files(24, 2, kFileTimes, bits, random,
                          [&](std::uint64_t t, std::size_t c, double noise) {
                            const bool on = t >= up && t < down && c < channels;
                            return noise * (on ? factor : 1) + 1e-6 * static_cast<double>(t);
                          });
        const auto found = find_level_steps(files, {{{0, 2 * kFileTimes}, 0}}, {}).steps;
        ASSERT_EQ(found.size(), 2u) << factor << ' ' << channels << ' ' << bits;
        EXPECT_NEAR(static_cast<double>(found[0].sample), static_cast<double>(up), 50);
        EXPECT_NEAR(static_cast<double>(found[1].sample), static_cast<double>(down), 50);
        EXPECT_FALSE(found[0].of_mean);
        EXPECT_FALSE(found[1].of_mean);
        EXPECT_EQ(level_steps(found)[0]["of"], "noise");
      }
}

// Too little to matter, a drift, in few channels, and noise that bursts.
TEST(StepsInside, OtherChangesOfTheNoiseAreNone) {
  auto random = tests::generator();
  const std::uint64_t at = 6000 + random() % 8000;
  EXPECT_EQ(steps_in_two(64, 32, random,
                         [&](std::uint64_t t, std::size_t, double noise) {
                           return noise * (t >= at ? 1.05 : 1);
                         }),
            Samples{});
  EXPECT_EQ(steps_in_two(24, 32, random,
                         [&](std::uint64_t t, std::size_t, double noise) {
                           return noise * (1 + 1e-5 * static_cast<double>(t));
                         }),
            Samples{});
  EXPECT_EQ(steps_in_two(24, 32, random,
                         [&](std::uint64_t t, std::size_t c, double noise) {
                           return noise * (t >= at && c < 4 ? 3 : 1);
                         }),
            Samples{});
  for (const std::uint64_t length : {1u, 50u, 200u})
    EXPECT_EQ(steps_in_two(24, 32, random,
                           [&](std::uint64_t t, std::size_t, double noise) {
                             return noise * (t >= at && t < at + length ? 20 : 1);
                           }),
              Samples{})
        << length;
}

// Against the definition: the mean of the middle half of the channels' changes.
TEST(LevelBlocks, ChangesAreThoseOfTheMiddleHalfOfTheChannels) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  for (const std::size_t channels : {1u, 2u, 3u, 4u, 7u, 64u}) {
    BlockLevels from(channels + 1), to(channels + 1);
    std::vector<double> means, noises;
    for (std::size_t c = 0; c < channels; ++c) {
      from.mean[c] = normal(random), to.mean[c] = normal(random);
      from.deviation[c] = 1 + std::abs(normal(random)),
      to.deviation[c] = 1 + std::abs(normal(random));
      const double a = from.deviation[c], b = to.deviation[c];
      means.push_back((to.mean[c] - from.mean[c]) / std::sqrt((a * a + b * b) / 2));
      noises.push_back(std::log(b) - std::log(a));
    }
    const auto middle = [](std::vector<double> values) {
      std::sort(values.begin(), values.end());
      const std::size_t cut = (values.size() + 1) / 4;
      double sum = 0;
      for (std::size_t k = cut; k < values.size() - cut; ++k) sum += values[k];
      return sum / static_cast<double>(values.size() - 2 * cut);
    };
    // The last channel does not count.
    from.deviation[channels] = to.deviation[channels] = 1, to.mean[channels] = 1e6;
    std::vector<bool> counts(channels + 1, true);
    counts.back() = false;
    const LevelChange change = change_of(from, to, counts);
    EXPECT_NEAR(change.mean, middle(means), 1e-12) << channels;
    EXPECT_NEAR(change.noise, middle(noises), 1e-12) << channels;
  }
}

TEST(PlaceStep, IsBetweenTheBlocks) {
  auto random = tests::generator();
  for (const Quantity quantity : {Quantity::mean, Quantity::noise}) {
    const std::uint64_t at = 1000 + random() % 5000;
    JoinedFiles files(16, 1, 8000, 32, random, [&](std::uint64_t t, std::size_t, double noise) {
      const bool behind = t >= at;
      return quantity == Quantity::mean ? noise + (behind ? -1 : 0) : noise * (behind ? 0.5 : 1);
    });
    const std::vector<bool> counts(16, true);
    for (const std::size_t spectra : {64u, 256u})
      EXPECT_NEAR(static_cast<double>(place_step(files, {500, spectra}, {7000, spectra}, spectra,
                                                 quantity, counts)),
                  static_cast<double>(at), 20);
  }
}

}  // namespace tautline::pipeline
