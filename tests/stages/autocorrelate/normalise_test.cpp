// Normalisation against its formulae, evaluated over the pairs.
#include "tautline/stages/autocorrelate/normalise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/stages/autocorrelate/support.h"
#include "tests/support/seed.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

struct Curves {
  Config config;
  Result<std::int64_t> sums;
  std::vector<double> g;
};

Curves curves_of(const Config& config, core::Normalization how,
                 const std::vector<std::uint8_t>& data) {
  Curves curves{config, run_on(kBackends[0], config, data), {}};
  curves.g.resize(curves.sums.sums.size());
  normalise(config, how, data.size() / config.sensors, curves.sums.views(),
            core::View<double, 2>(curves.g.data(), {config.pair_count(), curves.sums.lags}));
  return curves;
}

// The sum of a window of a series, or -1 where the window is not inside the series.
double window(const std::vector<std::uint8_t>& y, std::int64_t first, std::int64_t width) {
  if (first < 0 || first + width > static_cast<std::int64_t>(y.size())) return -1;
  double sum = 0;
  for (std::int64_t t = first; t < first + width; ++t) sum += y[static_cast<std::size_t>(t)];
  return sum;
}

TEST(Normalise, IsItsFormulaOverThePairs) {
  const auto y = random_counts<std::uint8_t>(1500, 1, 200);
  double mean = 0;
  for (const std::uint8_t count : y) mean += count / 1500.;
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{.lag_scheme = scheme, .bins = 6, .levels = 6};
    const auto none = curves_of(config, core::Normalization::none, y);
    const auto symmetric = curves_of(config, core::Normalization::symmetric, y);
    const auto global = curves_of(config, core::Normalization::global, y);
    const auto lags = lags_of(config);
    for (std::size_t l = 0; l < lags.size(); ++l) {
      const auto w = static_cast<std::int64_t>(1) << lags[l].level;
      double n = 0, sum = 0, a = 0, b = 0, around = 0;
      for (std::int64_t t = 0; t + w <= 1500; t += w) {
        const double later = window(y, t, w);
        const double earlier = window(y, t - static_cast<std::int64_t>(lags[l].samples), w);
        if (earlier < 0) continue;
        const double level_mean = mean * static_cast<double>(w);
        ++n;
        sum += later * earlier;
        a += earlier;
        b += later;
        around += (later - level_mean) * (earlier - level_mean) / (level_mean * level_mean);
      }
      EXPECT_DOUBLE_EQ(none.g[l], sum);
      EXPECT_NEAR(symmetric.g[l], n * sum / (a * b) - 1, 1e-12);
      EXPECT_NEAR(global.g[l], around / n, 1e-12);
    }
  }
}

TEST(Normalise, ConstantsGiveZeroAndEmptyOnesNothing) {
  const Config config{.sensors = 2, .bins = 6, .levels = 5};
  std::vector<std::uint8_t> data;
  for (int t = 0; t < 300; ++t) data.insert(data.end(), {7, 0});
  for (const auto how : {core::Normalization::symmetric, core::Normalization::global}) {
    const auto curves = curves_of(config, how, data);
    for (std::size_t l = 0; l < curves.sums.lags; ++l) {
      EXPECT_NEAR(curves.g[l], 0, 1e-15);
      EXPECT_TRUE(std::isnan(curves.g[curves.sums.lags + l]));
    }
  }
}

TEST(Normalise, LagsLongerThanTheRunAreUndefined) {
  const Config config{.bins = 6, .levels = 8};
  const auto curves =
      curves_of(config, core::Normalization::symmetric, random_counts<std::uint8_t>(100, 1, 200));
  for (std::size_t l = 0; l < curves.sums.lags; ++l)
    EXPECT_EQ(std::isnan(curves.g[l]), curves.sums.counts[l] == 0) << l;
  EXPECT_EQ(curves.sums.counts.back(), 0);
}

TEST(Normalise, ScatterOfSegments) {
  SegmentScatter scatter(1, 3);
  const std::vector<std::int64_t> counts{70, 70, 70};
  for (const double g : {1., 2., 4., 9.})
    scatter.add(std::vector<double>{g, g == 2 ? std::nan("") : g, g > 1 ? std::nan("") : g},
                counts);
  // mean 4, deviations 9 + 4 + 0 + 25
  EXPECT_NEAR(scatter.standard_error()[0], std::sqrt(38. / 12), 1e-14);
  // Of the three that have g: mean 14/3, deviations 121/9 + 4/9 + 169/9.
  EXPECT_NEAR(scatter.standard_error()[1], std::sqrt(294. / 9 / 6), 1e-14);
  EXPECT_TRUE(std::isnan(scatter.standard_error()[2])) << "one alone";
}

// A segment without g counts as if it were not there, in any order, as long as half of them have one.
TEST(Normalise, SegmentsWithoutCountsAreLeftOut) {
  auto random = ::tautline::tests::generator();
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::size_t dark = 0; dark <= 10; ++dark) {
    std::vector<std::uint8_t> lit(10, 1);
    std::fill_n(lit.begin(), dark, 0);
    std::shuffle(lit.begin(), lit.end(), random);
    SegmentScatter all(1, 1), some(1, 1);
    for (const std::uint8_t one : lit) {
      const std::vector<std::int64_t> counts{static_cast<std::int64_t>(1 + random() % 100)};
      const std::vector<double> g{one != 0 ? value(random) : std::nan("")};
      all.add(g, counts);
      if (one != 0) some.add(g, counts);
    }
    if (dark <= 5)
      EXPECT_EQ(all.standard_error(), some.standard_error()) << dark;
    else
      EXPECT_TRUE(std::isnan(all.standard_error()[0])) << dark;
  }
}

TEST(Normalise, SegmentsWeighByTheirPairs) {
  SegmentScatter scatter(2, 2);
  const double g[] = {1, 3, 6};
  const std::int64_t pairs[] = {10, 20, 20};
  for (std::size_t k = 0; k < 3; ++k)
    scatter.add(std::vector<double>{g[k], 0, 2 * g[k], 0},
                std::vector<std::int64_t>{pairs[k], k == 1 ? 0 : 5});
  // Mean 3.8; 10 x 2.8^2 + 20 x 0.8^2 + 20 x 2.2^2 = 188 over 2 x 50.
  EXPECT_NEAR(scatter.standard_error()[0], std::sqrt(1.88), 1e-14);
  EXPECT_NEAR(scatter.standard_error()[2], 2 * std::sqrt(1.88), 1e-14);
  EXPECT_TRUE(std::isnan(scatter.standard_error()[1])) << "a segment without pairs";
}

// A run's second half: the increase of sums, monitors and counts. Its pairs may have their earlier
// window in the first half, so there are more than in a run of its length.
TEST(Normalise, CountsAreThoseOfThePairs) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{.lag_scheme = scheme, .bins = 6, .levels = 5};
    const std::vector<std::uint8_t> run(800, 7), half(400, 7);
    auto whole = run_on(kBackends[0], config, run), first = run_on(kBackends[0], config, half);
    auto growth = whole;
    const auto subtract = [](auto& from, const auto& value) {
      for (std::size_t i = 0; i < from.size(); ++i) from[i] -= value[i];
    };
    subtract(growth.sums, first.sums);
    subtract(growth.lead_in, first.lead_in);
    subtract(growth.direct, first.direct);
    subtract(growth.delayed, first.delayed);
    subtract(growth.totals, first.totals);
    subtract(growth.counts, first.counts);
    std::vector<double> g(growth.lags, -77);
    for (const auto how : {core::Normalization::symmetric, core::Normalization::global}) {
      normalise(config, how, 400, growth.views(),
                core::View<double, 2>(g.data(), {1, growth.lags}));
      for (std::size_t l = 0; l < g.size(); ++l)
        if (growth.counts[l] > 0) {
          EXPECT_NEAR(g[l], 0, 1e-15) << "lag " << l;
        }
      // The increase need not be stored.
      std::vector<double> same(growth.lags, -77);
      normalise_growth(config, how, 400, first.views(), whole.views(), growth.counts,
                       core::View<double, 2>(same.data(), {1, growth.lags}));
      EXPECT_EQ(std::memcmp(same.data(), g.data(), g.size() * sizeof(double)), 0);
    }
    growth.counts.pop_back();
    EXPECT_THROW(normalise(config, core::Normalization::symmetric, 400, growth.views(),
                           core::View<double, 2>(g.data(), {1, growth.lags})),
                 core::Error);
  }
}

// A mean that falls by steps adds an offset to g at every lag. Means taken segment by segment
// remove it.
TEST(Normalise, DetrendingRemovesSteps) {
  auto random = generator();
  const Config config{
      .lag_scheme = LagScheme::standard, .bins = 8, .levels = 4, .max_samples = 100'000};
  Detrender detrender(1, lags_of(config).size());
  std::vector<std::uint8_t> run;
  for (const double mean : {40., 30., 20., 10.}) {
    std::poisson_distribution<int> draw(mean);
    std::vector<std::uint8_t> segment(20'000);
    for (auto& count : segment) count = static_cast<std::uint8_t>(draw(random));
    auto sums = run_on(kBackends[0], config, segment);
    detrender.add(sums.views());
    run.insert(run.end(), segment.begin(), segment.end());
  }
  const auto raw = curves_of(config, core::Normalization::symmetric, run).g;
  const auto detrended = detrender.g();
  for (std::size_t l = 1; l < raw.size(); ++l) {
    EXPECT_NEAR(raw[l], 0.2, 0.01);
    EXPECT_NEAR(detrended[l], 0, 0.005);
  }
}

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests
