// Steps of level close to each other or to an end, and pulses, which are none.
#include "tautline/pipeline/search/short_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tautline/pipeline/search/dispersed_step.h"
#include "tests/pipeline/search/joined_files.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kBandChannels = 24;
constexpr std::uint64_t kSpectra = 20'000;

FoundSteps found_in(JoinedFiles& files) {
  return find_level_steps(files, {{{0, files.description().samples}, 0}}, {});
}

// `moved`, and the noise `scaled`, in [first, end).
struct Part {
  std::uint64_t first, end;
  double moved, scaled = 1;
};

JoinedFiles with_parts(std::mt19937_64& random, int bits, const std::vector<Part>& parts) {
  return {
      kBandChannels, 1, kSpectra, bits, random, [&](std::uint64_t t, std::size_t c, double noise) {
        double x = 0.2 * std::sin(static_cast<double>(c)), scale = 1;
        for (const Part& part : parts)
          if (t >= part.first && t < part.end) x += part.moved, scale *= part.scaled;
        return x + scale * noise;
      }};
}

void expect_steps(const FoundSteps& found, const std::vector<std::uint64_t>& expected) {
  ASSERT_EQ(found.steps.size(), expected.size());
  EXPECT_TRUE(found.uncut.empty());
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_NEAR(static_cast<double>(found.steps[k].sample), static_cast<double>(expected[k]), 20);
}

// A band at 1,500 MHz and below, of an instrument that takes `rate_hz` spectra a second.
std::vector<double> band() {
  std::vector<double> mhz;
  for (std::size_t c = 0; c < kBandChannels; ++c)
    mhz.push_back(1500 - 12.5 * static_cast<double>(c));
  return mhz;
}

double delay_s(double dm, double mhz) {
  return 4148.808 * dm * (1 / (mhz * mhz) - 1 / (1500.0 * 1500.0));
}

enum class Shape { even, gaussian, scattered };

// At `t_s` after its middle, or its rise.
double pulse(Shape shape, double t_s, double width_s) {
  if (shape == Shape::even) return std::abs(t_s) < width_s / 2 ? 1 : 0;
  if (shape == Shape::gaussian) return std::exp(-4 * std::log(2) * t_s * t_s / (width_s * width_s));
  return t_s < 0 ? 0 : std::exp(-t_s / width_s);
}

}  // namespace

TEST(ShortSteps, CloseToEachOtherAndToAnEndAreFound) {
  auto random = tests::generator();
  for (const int bits : {8, 32}) {
    const std::uint64_t at = 8000 + random() % 4000, next = at + 600 + random() % 2000;
    // Up, and farther up; up, and down below the first level.
    for (const double second : {1.0, -2.0}) {
      JoinedFiles stairs = with_parts(random, bits, {{at, kSpectra, 1}, {next, kSpectra, second}});
      SCOPED_TRACE(second);
      expect_steps(found_in(stairs), {at, next});
    }
    const std::uint64_t near = 300 + random() % 1000;
    JoinedFiles begin = with_parts(random, bits, {{0, near, 1}});
    expect_steps(found_in(begin), {near});
    JoinedFiles end = with_parts(random, bits, {{kSpectra - near, kSpectra, -1, 1.5}});
    expect_steps(found_in(end), {kSpectra - near});
  }
}

// The second step inside a block that is compared with one before both steps: with about as much of either level it has
// more noise and hardly another mean.
TEST(ShortSteps, InTheMiddleOfABlockAreFoundWhereTheyAre) {
  auto random = tests::generator();
  const std::uint64_t at = 10'200 + random() % 300;
  for (std::uint64_t next = 11'040; next < 11'160; next += 8) {
    SCOPED_TRACE(next);
    JoinedFiles stairs = with_parts(random, 8, {{at, kSpectra, 1}, {next, kSpectra, -2}});
    expect_steps(found_in(stairs), {at, next});
  }
}

// For half a second, to other noise; the noise alone; less noise at a higher level.
TEST(ShortSteps, OfAReceiverThatDropsAreFound) {
  auto random = tests::generator();
  for (const std::uint64_t length : {500u, 900u, 3000u})
    for (const auto& [moved, scaled] :
         {std::pair{-2.0, 0.5}, {-1.0, 1.0}, {-2.0, 2.0}, {0.0, 2.0}, {0.0, 0.5}, {1.0, 0.5}}) {
      SCOPED_TRACE(std::to_string(length) + " " + std::to_string(moved) + " " +
                   std::to_string(scaled));
      const std::uint64_t at = 5000 + random() % 9000;
      JoinedFiles files = with_parts(random, 8, {{at, at + length, moved, scaled}});
      expect_steps(found_in(files), {at, at + length});
      // Before the second half of an observation at another level.
      JoinedFiles between =
          with_parts(random, 32, {{at, at + length, moved, scaled}, {at + length, kSpectra, 1.5}});
      expect_steps(found_in(between), {at, at + length});
    }
}

// Where the level is another one behind padding, and soon steps again.
TEST(ShortSteps, BehindPaddingAreFound) {
  auto random = tests::generator();
  for (const std::uint64_t padding : {100u, 1500u, 5000u})
    for (const int bits : {8, 32}) {
      SCOPED_TRACE(std::to_string(padding) + " spectra, " + std::to_string(bits) + " bits");
      const std::uint64_t at = 8000 + random() % 2000, end = at + padding;
      const std::uint64_t next = end + 900 + random() % 600;
      JoinedFiles files(kBandChannels, 1, kSpectra, bits, random,
                        [&](std::uint64_t t, std::size_t, double noise) {
                          if (t >= at && t < end) return -50.0;
                          return noise + (t >= next ? 6 : t >= end ? 3 : 0);
                        });
      expect_steps(found_in(files), {end, next});
    }
}

// Packets that are lost again and again change the blocks that they are in by more than the receiver's drop does.
TEST(ShortSteps, AmongLostPacketsAreFound) {
  auto random = tests::generator();
  for (const std::uint64_t distance : {350u, 150u}) {
    SCOPED_TRACE(distance);
    const std::uint64_t at = 5000 + random() % 9000, end = at + 900;
    std::vector<bool> lost(kSpectra, false);
    for (std::uint64_t t = random() % distance; t + 100 < kSpectra; t += distance + random() % 50) {
      const std::uint64_t samples = 20 + random() % 60;
      const auto holds = [&](std::uint64_t edge) { return t <= edge && edge <= t + samples; };
      if (holds(at) || holds(end)) continue;
      std::fill_n(lost.begin() + static_cast<std::ptrdiff_t>(t), samples, true);
    }
    JoinedFiles files(kBandChannels, 1, kSpectra, 8, random,
                      [&](std::uint64_t t, std::size_t, double noise) {
                        if (lost[t]) return -50.0;
                        return noise - (t >= at && t < end ? 1 : 0);
                      });
    expect_steps(found_in(files), {at, end});
  }
}

// Interference, or pulses of little dispersion: the search has them as before, and is told.
TEST(ShortSteps, RisesThatReturnAreNotCut) {
  auto random = tests::generator();
  for (const std::uint64_t length : {1u, 20u, 100u, 400u, 1000u, 3500u})
    for (const double height : {1.0, 5.0, 20.0}) {
      const std::uint64_t at = 5000 + random() % 9000;
      JoinedFiles files = with_parts(random, 32, {{at, at + length, height}});
      const FoundSteps found = found_in(files);
      EXPECT_TRUE(found.steps.empty()) << length << ' ' << height;
      if (length < 256) {
        EXPECT_TRUE(found.uncut.empty()) << length << ' ' << height;
        continue;
      }
      ASSERT_EQ(found.uncut.size(), 1u) << length << ' ' << height;
      EXPECT_EQ(found.uncut[0].steps, 2u);
      EXPECT_NEAR(static_cast<double>(found.uncut[0].sample), static_cast<double>(at), 20);
      EXPECT_NEAR(static_cast<double>(found.uncut[0].samples), static_cast<double>(length), 40);
      EXPECT_EQ(uncut_levels(found.uncut)[0]["samples"], found.uncut[0].samples);
    }
  // Two, close to each other: the level between them is no receiver's drop.
  const std::uint64_t at = 8000 + random() % 2000;
  JoinedFiles two = with_parts(random, 32, {{at, at + 500, 3}, {at + 1200, at + 1800, 3}});
  const FoundSteps found = found_in(two);
  EXPECT_TRUE(found.steps.empty());
  EXPECT_EQ(found.uncut.size(), 2u);
}

TEST(ShortSteps, TooManyAreNotCutAndTold) {
  auto random = tests::generator();
  const std::uint64_t period = 1200 + random() % 200;
  JoinedFiles files(kBandChannels, 1, 3 * kSpectra / 2, 8, random,
                    [&](std::uint64_t t, std::size_t, double noise) {
                      return noise + (t / period % 2 != 0 ? 3 : 0);
                    });
  const FoundSteps found = found_in(files);
  EXPECT_TRUE(found.steps.empty());
  ASSERT_EQ(found.uncut.size(), 1u);
  EXPECT_GT(found.uncut[0].steps, 16u);
  EXPECT_NEAR(static_cast<double>(found.uncut[0].sample), static_cast<double>(period), 20);
}

// Of S/N 100 and more, up to a second wide, sampled coarsely and finely, of all shapes.
TEST(ShortSteps, PulsesAreNone) {
  auto random = tests::generator();
  for (const auto& [rate_hz, times] : {std::pair{1000, 12'000u}, {8000, 40'000u}})
    for (const Shape shape : {Shape::even, Shape::gaussian, Shape::scattered})
      for (const double width_s : {0.05, 0.3, 1.0})
        for (const double dm : {0.0, 30.0, 300.0})
          for (const double snr : {100.0, 1000.0}) {
            const double rate = rate_hz, height = snr / std::sqrt(width_s * rate * kBandChannels);
            const double at_s = 1.5 + 1e-4 * static_cast<double>(random() % 1000);
            const std::vector<double> mhz = band();
            JoinedFiles files(kBandChannels, 1, times, 32, random,
                              [&](std::uint64_t t, std::size_t c, double noise) {
                                const double t_s =
                                    static_cast<double>(t) / rate - at_s - delay_s(dm, mhz[c]);
                                return noise + height * pulse(shape, t_s, width_s);
                              });
            files.set_band(rate_hz, mhz);
            EXPECT_TRUE(found_in(files).steps.empty())
                << "shape " << static_cast<int>(shape) << ", " << width_s << " s, DM " << dm
                << ", S/N " << snr << ", " << rate_hz << " Hz, at " << at_s << " s";
          }
}

TEST(DispersedStep, IsOneThatComesLaterInLowerChannels) {
  auto random = tests::generator();
  const std::uint64_t at = 5000 + random() % 1000;
  for (const double dm : {0.0, 200.0, 400.0})
    for (const double height : {0.5, 3.0}) {
      const std::vector<double> mhz = band();
      JoinedFiles files(kBandChannels, 1, 10'000, 8, random,
                        [&](std::uint64_t t, std::size_t c, double noise) {
                          const double first = static_cast<double>(at) + 1000 * delay_s(dm, mhz[c]);
                          return noise + (static_cast<double>(t) >= first ? height : 0);
                        });
      const std::vector<bool> counts(kBandChannels, true);
      const StepBounds bounds{0, at, 10'000};
      EXPECT_FALSE(step_is_dispersed(files, bounds, counts)) << "no frequencies";
      files.set_band(1000, mhz);
      // 200: 196 spectra of 1 ms from the highest to the lowest channel.
      EXPECT_EQ(step_is_dispersed(files, bounds, counts), dm > 0) << dm << ' ' << height;
    }
  JoinedFiles noise = with_parts(random, 32, {{at, kSpectra, 0, 2}});
  noise.set_band(1000, band());
  EXPECT_FALSE(step_is_dispersed(noise, {0, at, kSpectra}, std::vector<bool>(kBandChannels, true)));
}

}  // namespace tautline::pipeline
