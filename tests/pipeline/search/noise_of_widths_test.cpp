// The noise of sums of white, red and pulsed series.
#include "tautline/pipeline/search/noise_of_widths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

const std::vector<std::size_t> kNoiseWidths{1, 2, 4, 9, 32, 128, 512};

std::vector<float> white(std::mt19937_64& random, std::size_t count, double deviation) {
  std::normal_distribution<double> normal(1000, deviation);
  std::vector<float> series(count);
  for (float& x : series) x = static_cast<float>(normal(random));
  return series;
}

// Of a series in one piece.
std::vector<WidthNoise> noise_of(const std::vector<float>& series, bool whole_numbers,
                                 std::size_t baseline_samples,
                                 const std::vector<std::size_t>& widths) {
  const std::span<const float> piece(series);
  return noise_of_widths({&piece, 1}, whole_numbers, baseline_samples, widths);
}

}  // namespace

TEST(NoiseOfWidths, OfWhiteNoiseIsThatOfOneSample) {
  auto random = tests::generator();
  for (int time = 0; time < 20; ++time) {
    auto series = white(random, 262144, 20);
    const bool whole = time % 2 == 1;
    if (whole)
      for (float& x : series) x = std::round(x / 10);  // two steps of noise
    const auto noise = noise_of(series, whole, 8192, kNoiseWidths);
    ASSERT_EQ(noise.size(), kNoiseWidths.size() - 1);
    for (const WidthNoise& one : noise) EXPECT_NEAR(one.excess, 1, 0.35) << one.width;
    EXPECT_NEAR(noise.front().excess, 1, 0.05);
  }
}

// Bright ones, too, as long as they fill little of the series.
TEST(NoiseOfWidths, PulsesAreNone) {
  auto random = tests::generator();
  for (const std::size_t width : {1u, 32u, 500u}) {
    auto series = white(random, 65536, 20);
    for (std::size_t t = 20000; t < 20000 + width; ++t) series[t] += 2000;
    for (const WidthNoise& one : noise_of(series, false, 8192, kNoiseWidths))
      EXPECT_FALSE(one.is_much()) << one.excess << " of " << one.width << " of " << width;
  }
}

// A random walk that returns within some 200 samples: sums of w samples scatter as sqrt(1 + w (1 - w / 600 ...) a^2)
// times white ones, a being the walk's share.
TEST(NoiseOfWidths, OfRedNoiseGrowsWithTheWidth) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  auto series = white(random, 262144, 20);
  const double keeps = 1 - 1.0 / 200, share = 6;
  double walk = 0;
  for (float& x : series) {
    walk = keeps * walk + share * std::sqrt(1 - keeps * keeps) * normal(random);
    x += static_cast<float>(walk);
  }
  const auto noise = noise_of(series, false, 8192, kNoiseWidths);
  const auto expected = [&](double w) {
    // The variance of a sum of an autoregressive series of deviation `share`.
    const double r = keeps;
    const double red = share * share * (w + 2 * r / (1 - r) * (w - (1 - std::pow(r, w)) / (1 - r)));
    return std::sqrt((400 * w + red) / ((400 + share * share) * w));
  };
  for (const WidthNoise& one : noise)
    EXPECT_NEAR(one.excess, expected(static_cast<double>(one.width)),
                0.25 * expected(static_cast<double>(one.width)))
        << one.width;
  EXPECT_TRUE(noise.back().is_much());
}

// Between pieces the level may be another one. Sums lie within one piece.
TEST(NoiseOfWidths, OfPiecesIsThatOfTheSeries) {
  auto random = tests::generator();
  auto series = white(random, 262144, 20);
  std::vector<std::span<const float>> pieces;
  for (std::size_t t = 0, count = 0; t < series.size(); t += count) {
    count = std::min<std::size_t>(series.size() - t, 1 + random() % 8000);
    const auto level = static_cast<float>(random() % 5000);
    for (std::size_t k = t; k < t + count; ++k) series[k] += level;
    pieces.push_back(std::span(series).subspan(t, count));
  }
  const auto noise = noise_of_widths(pieces, false, 8192, kNoiseWidths);
  ASSERT_EQ(noise.size(), kNoiseWidths.size() - 1);
  for (const WidthNoise& one : noise) {
    EXPECT_NEAR(one.excess, 1, 0.35) << one.width;
    EXPECT_FALSE(one.is_much()) << one.width;
    std::size_t sums = 0;
    for (const auto piece : pieces) sums += piece.size() / one.width;
    EXPECT_EQ(one.sums, sums);
  }
  EXPECT_TRUE(noise_of_widths({}, false, 8192, kNoiseWidths).empty());
  // Pieces shorter than a sum.
  pieces.clear();
  for (std::size_t t = 0; t + 31 <= series.size(); t += 31)
    pieces.push_back(std::span(series).subspan(t, 31));
  const std::vector<std::size_t> widths{16, 32};
  EXPECT_EQ(noise_of_widths(pieces, false, 8192, widths).size(), 1U);
}

// However few sums there are: one in a million.
TEST(NoiseOfWidths, OfShortWhiteSeriesIsNotMuch) {
  auto random = tests::generator();
  for (int time = 0; time < 20; ++time)
    for (const WidthNoise& one : noise_of(white(random, 4096, 20), false, 3906,
                                          std::vector<std::size_t>{8, 32, 64, 128, 174, 256})) {
      EXPECT_GE(one.sums, kLeastSums);
      EXPECT_FALSE(one.is_much()) << one.excess << " of " << one.width;
    }
}

TEST(NoiseOfWidths, NothingOfShortAndOfConstantSeries) {
  EXPECT_TRUE(noise_of(std::vector<float>(31, 1), false, 100, kNoiseWidths).empty());
  EXPECT_TRUE(noise_of(std::vector<float>(1000, 5), false, 100, kNoiseWidths).empty());
  EXPECT_TRUE(noise_of(std::vector<float>(1000, 5), true, 100, kNoiseWidths).empty());
}

}  // namespace tautline::pipeline
