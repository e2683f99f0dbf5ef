// Standard errors from segments against what counts without correlation must have, and detrending.
#include <gtest/gtest.h>

#include <cmath>

#include "tautline/core/error.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

using core::Normalization;
using stages::autocorrelate::LagScheme;
using tests::config_for;
using tests::poisson;
using tests::save;

core::CorrelationCurves run(const AutocorrelateConfig& config,
                            AutocorrelateSummary* summary = nullptr) {
  AutocorrelateSummary own;
  return correlate_counts(config, device::open({}, {.threads = 2}),
                          summary != nullptr ? *summary : own);
}

const char* name_of(LagScheme scheme) {
  return scheme == LagScheme::chain ? "chain" : "standard";
}

// Lags reach from one sample to beyond a segment, levels to windows that no segment's end divides.
TEST(CurveErrors, CountsThatNeverChangeHaveNone) {
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSamples = 10'000, kSegments = 10;
  std::vector<std::uint8_t> counts;
  for (std::size_t t = 0; t < kSamples; ++t) counts.insert(counts.end(), {7, 3});
  AutocorrelateConfig config = config_for(save(scratch, counts, 2));
  config.sensors.pairs = "all";
  config.levels = 9;
  config.segments = kSegments;
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const auto how : {Normalization::symmetric, Normalization::global}) {
      config.lag_scheme = scheme;
      config.normalization = how;
      const core::CorrelationCurves c = run(config);
      const std::string where = std::string(name_of(scheme)) + ", " + core::to_string(how);
      ASSERT_EQ(c.curves, 4u);
      ASSERT_EQ(c.segments, kSegments);
      ASSERT_EQ(c.standard_error.size(), c.g.size());
      ASSERT_EQ(c.segment_g.size(), kSegments * c.g.size());
      std::size_t finite = 0;
      for (std::size_t i = 0; i < c.g.size(); ++i) {
        const std::uint64_t lag = c.lag_samples[i % c.lags];
        if (lag >= kSamples / kSegments) {
          EXPECT_TRUE(std::isnan(c.standard_error[i])) << where << ", lag " << lag;
          continue;
        }
        if (std::isnan(c.standard_error[i])) continue;  // no whole window within a segment
        ++finite;
        EXPECT_NEAR(c.standard_error[i], 0, 1e-15) << where << ", lag " << lag;
        for (std::size_t k = 0; k < kSegments; ++k)
          EXPECT_NEAR(c.segment_g[k * c.g.size() + i], 0, 1e-15)
              << where << ", lag " << lag << ", segment " << k;
      }
      EXPECT_GT(finite, 4 * 30u) << where;
      EXPECT_LT(finite, c.g.size()) << where;
    }
}

// Counts without correlation: g scatters by 1 / (w mean sqrt N) about 0 at a lag of N pairs of
// windows of w samples. The square of a standard error from K segments is itself known to
// sqrt(2 / (K - 1)); sensors and lags are independent. The mean within each segment takes a part
// 1/N_k of its variance, 1 to 2 % here.
TEST(CurveErrors, OfPoissonCountsAreThoseOfTheirPairs) {
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSamples = 40'000, kSegments = 10, kSensors = 24;
  constexpr double kMean = 4;
  AutocorrelateConfig config =
      config_for(save(scratch, poisson(kSamples * kSensors, kMean), kSensors));
  config.bins = 128;
  config.levels = 7;
  config.segments = kSegments;
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const auto how : {Normalization::symmetric, Normalization::global}) {
      config.lag_scheme = scheme;
      config.normalization = how;
      const core::CorrelationCurves c = run(config);
      // Over all, and where the first segment has far fewer pairs than the others.
      for (const auto& [low, high] : {std::pair{0.1, 0.8}, std::pair{0.6, 0.8}}) {
        double sum = 0, values = 0;
        for (std::size_t i = 0; i < c.g.size(); ++i) {
          const std::size_t l = i % c.lags;
          const double part = static_cast<double>(c.lag_samples[l]) / (kSamples / kSegments);
          if (part < low || part > high) continue;
          double window = 1;
          const std::size_t first = scheme == LagScheme::chain ? 0 : 1, half = config.bins / 2;
          const std::size_t level = scheme == LagScheme::chain ? l / config.bins
                                    : l <= config.bins         ? 0
                                                       : (l - config.bins - first) / half + 1;
          window = std::ldexp(1, static_cast<int>(level));
          const double error = c.standard_error[i] * window * kMean;
          sum += error * error * static_cast<double>(c.counts[l]);
          ++values;
        }
        ASSERT_GT(values, 400);
        const double known = std::sqrt(2 * 1.15 / (kSegments - 1) / values);
        EXPECT_NEAR(sum / values, 0.985, 5.5 * known + 0.02)
            << name_of(scheme) << ", " << core::to_string(how) << ", lags from " << low << " to "
            << high << " of a segment";
      }
    }
}

// The error of a sum over the whole run, not of a segment's: mostly that of the mean, twice.
TEST(CurveErrors, OfSumsAreOfTheWholeRun) {
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSamples = 10'000, kSensors = 24;
  AutocorrelateConfig config = config_for(save(scratch, poisson(kSamples * kSensors, 4), kSensors));
  config.normalization = Normalization::none;
  const core::CorrelationCurves c = run(config);
  double ratio = 0;
  for (std::size_t s = 0; s < kSensors; ++s) {
    const double relative = c.standard_error[s * c.lags + 5] / c.g[s * c.lags + 5];
    ratio += relative * relative * kSamples / (4. / 4 + 1. / 16) / kSensors;
  }
  // Chi-squared of 24 x 9 degrees of freedom over their number.
  EXPECT_NEAR(ratio, 1, 0.6);
}

TEST(CurveErrors, DetrendingTakesTheMeansSegmentBySegment) {
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSegmentSamples = 20'000;
  std::vector<std::uint8_t> counts;
  for (const double mean : {40., 30., 20., 10.}) {
    const auto segment = poisson(kSegmentSamples, mean);
    counts.insert(counts.end(), segment.begin(), segment.end());
  }
  AutocorrelateConfig config = config_for(save(scratch, counts, 1));
  config.segments = 4;
  config.levels = 13;
  AutocorrelateSummary raw_summary, summary;
  const core::CorrelationCurves raw = run(config, &raw_summary);
  config.detrend = true;
  const core::CorrelationCurves c = run(config, &summary);
  EXPECT_TRUE(c.detrended);
  EXPECT_FALSE(raw.detrended);
  EXPECT_EQ(c.sums, raw.sums);
  EXPECT_EQ(c.monitor_direct, raw.monitor_direct);
  EXPECT_EQ(c.counts, raw.counts);
  EXPECT_EQ(c.standard_error.size(), c.g.size());
  std::size_t beyond = 0;
  for (std::size_t l = 1; l < c.lags; ++l) {
    if (c.lag_samples[l] < kSegmentSamples / 100) {
      EXPECT_NEAR(raw.g[l], 0.2, 0.01) << l;
      EXPECT_NEAR(c.g[l], 0, 0.01) << l;
    } else if (c.lag_samples[l] > kSegmentSamples) {
      EXPECT_TRUE(std::isnan(c.g[l])) << l;
      EXPECT_FALSE(std::isnan(raw.g[l])) << l;
      ++beyond;
    }
  }
  ASSERT_GT(beyond, 0u);
  const std::string words =
      std::to_string(beyond) + " of " + std::to_string(c.lags) + " lags are longer than a segment";
  const auto said = [&](const AutocorrelateSummary& s) {
    return std::any_of(s.warnings.begin(), s.warnings.end(), [&](const std::string& warning) {
      return warning.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(said(summary));
  EXPECT_FALSE(said(raw_summary));
  for (const auto how : {Normalization::none, Normalization::global}) {
    config.normalization = how;
    try {
      run(config);
      ADD_FAILURE() << "detrended with " << core::to_string(how);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      EXPECT_NE(std::string(error.what()).find("detrend"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::pipeline
