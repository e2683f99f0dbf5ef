// Counts that bleach: the trend and what it adds to g are named; steady and diffusing counts give no alarm.
#include "tautline/pipeline/photons/count_trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

using tests::config_for;
using tests::save;

// Poisson counts whose mean falls by exp(-decay) over the run, or rises.
std::vector<std::uint8_t> bleaching(std::size_t samples, const std::vector<double>& decays,
                                    double mean = 4) {
  auto random = tests::generator();
  std::vector<std::uint8_t> counts;
  for (std::size_t t = 0; t < samples; ++t)
    for (const double decay : decays) {
      const double part = static_cast<double>(t) / static_cast<double>(samples);
      std::poisson_distribution<int> draw(mean * std::exp(-decay * part));
      counts.push_back(static_cast<std::uint8_t>(std::min(255, draw(random))));
    }
  return counts;
}

core::CorrelationCurves run(const AutocorrelateConfig& config, AutocorrelateSummary& summary) {
  summary = {};
  return correlate_counts(config, device::open({}, {.threads = 2}), summary);
}

// The warning about a trend; empty: there is none.
std::string warned(const AutocorrelateSummary& summary) {
  std::string found;
  for (const std::string& warning : summary.warnings)
    if (warning.find("as where a dye bleaches") != std::string::npos) {
      EXPECT_TRUE(found.empty()) << warning;
      found = warning;
    }
  return found;
}

double number_behind(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  EXPECT_NE(at, std::string::npos) << text;
  return at == std::string::npos ? 0 : std::atof(text.c_str() + at + words.size());
}

TEST(CountTrend, OfAnExponentialIsItsVariance) {
  for (const double decay : {0.1, 0.5, 2.0, -1.0}) {
    SCOPED_TRACE(decay);
    std::vector<double> rates;
    for (int k = 0; k < 1001; ++k) rates.push_back(7 * std::exp(-decay * k / 1000));
    rates.back() = 0;  // a short step
    const auto trend = trend_of(rates);
    ASSERT_TRUE(trend);
    EXPECT_GT(trend->standard_errors, kTrendStandardErrors);
    EXPECT_NEAR(trend->change, std::exp(-0.9 * decay) - 1, 0.01);
    const double mean = (1 - std::exp(-decay)) / decay;
    const double square = (1 - std::exp(-2 * decay)) / (2 * decay);
    double variance = 0;
    for (const double part : trend->part) variance += part * part / kTrendBlocks;
    EXPECT_NEAR(variance / (square / (mean * mean) - 1), 1, 0.02);
  }
  EXPECT_FALSE(trend_of(std::vector<double>(kTrendBlocks - 1, 1.0)));
  EXPECT_FALSE(trend_of(std::vector<double>(100, 0.0)));
  EXPECT_EQ(trend_of(std::vector<double>(100, 3.0))->standard_errors, 0);
}

// Correlated as a dye that diffuses: over a hundredth of the run at most. One series in 6e5 to 3e6 exceeds the limit,
// and 0.2 to 0.4 of 300 half of it: the bounds are exceeded less than once in 5e6 runs.
TEST(CountTrend, OfCountsThatFluctuateIsNotSignificant) {
  auto random = tests::generator();
  std::normal_distribution<double> noise;
  for (const double steps : {0.0, 1.0, 10.0}) {
    const double kept = steps > 0 ? std::exp(-1 / steps) : 0;
    double most = 0;
    int beyond = 0, beyond_half = 0;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<double> rates;
      for (double now = noise(random); rates.size() < 1000;
           now = kept * now + std::sqrt(1 - kept * kept) * noise(random))
        rates.push_back(100 + now);
      const double found = trend_of(rates)->standard_errors;
      most = std::max(most, found);
      beyond += found > kTrendStandardErrors ? 1 : 0;
      beyond_half += found > kTrendStandardErrors / 2 ? 1 : 0;
    }
    EXPECT_LE(beyond, 1) << steps;
    EXPECT_LE(beyond_half, 8) << steps;
    EXPECT_GT(most, 1.5) << steps;
  }
}

TEST(CountTrend, IsNamedWithWhatItAddsToG) {
  const tests::ScratchFolder scratch;
  AutocorrelateSummary summary;
  AutocorrelateConfig config = config_for(save(scratch, bleaching(200'000, {0.7}), 1));
  config.segments = 20;
  core::CorrelationCurves curves = run(config, summary);
  const std::string warning = warned(summary);
  EXPECT_NEAR(number_behind(warning, "counts fall by "), 100 * (1 - std::exp(-0.63)), 2) << warning;
  EXPECT_NE(warning.find("`detrend` takes it off"), std::string::npos) << warning;
  const auto plateau = [&] {
    double sum = 0;
    for (std::size_t l = curves.lags / 2; l < curves.lags; ++l) sum += curves.g[l];
    return sum / static_cast<double>(curves.lags - curves.lags / 2);
  };
  const double added = number_behind(warning, "adds ");
  EXPECT_NEAR(plateau(), added, 0.1 * added) << warning;
  config.detrend = true;
  curves = run(config, summary);
  EXPECT_EQ(warned(summary), "");
  EXPECT_NEAR(plateau(), 0, 0.1 * added);
  // Other normalisations: sums are not g, and global g needs another one for `detrend`.
  config.detrend = false;
  config.normalization = core::Normalization::none;
  run(config, summary);
  EXPECT_EQ(warned(summary), "");
  config.normalization = core::Normalization::global;
  run(config, summary);
  EXPECT_NE(warned(summary).find("`detrend` with symmetric normalisation takes it off"),
            std::string::npos)
      << warned(summary);
  // Without standard errors there is nothing to judge by.
  config.normalization = core::Normalization::symmetric;
  config.segments = 1;
  run(config, summary);
  EXPECT_EQ(warned(summary), "");
}

// A trend that is certain, 32 standard errors of which the errors of 20 blocks make less than 8 once in 3e6 runs, and
// 0.64 of the errors of g, which 60 segments tell well enough.
TEST(CountTrend, BelowTheErrorsOfGIsNotNamed) {
  const tests::ScratchFolder scratch;
  const std::string file = save(scratch, bleaching(2'500'000, {0.022}, 10), 1);
  AutocorrelateConfig config = config_for(file);
  config.levels = 1;
  config.segments = 60;
  AutocorrelateSummary summary;
  const core::CorrelationCurves curves = run(config, summary);
  EXPECT_GT(trend_of(curves.first[0].trace.rate_khz)->standard_errors, kTrendStandardErrors);
  EXPECT_EQ(warned(summary), "");
}

TEST(CountTrend, OfSomeSensorsIsNamedOnce) {
  const tests::ScratchFolder scratch;
  const std::string file = save(scratch, bleaching(100'000, {0, 0.5, 0, 0.85, -0.5}), 5);
  AutocorrelateConfig config = config_for(file);
  AutocorrelateSummary summary;
  run(config, summary);
  // The one whose change is the largest for its errors, which are estimates.
  const std::string text = warned(summary),
                    named =
                        "counts of 3 of 5 curves fall or rise over the run, as where a dye "
                        "bleaches: those of sensor ";
  EXPECT_TRUE(text.starts_with(named + "3 fall by 5") || text.starts_with(named + "4 rise by "))
      << text;
  // Of two signals both have to change.
  for (const auto& [pair, change] : {std::pair{"0x1", ""}, {"1x3", "fall"}, {"4x1", "rise"}}) {
    config.sensors.pairs = pair;
    run(config, summary);
    const std::string found = warned(summary);
    EXPECT_EQ(found.empty(), std::string(change).empty()) << pair << ": " << found;
    EXPECT_NE(found.find(change), std::string::npos) << pair << ": " << found;
    if (found.empty()) continue;
    EXPECT_EQ(number_behind(found, "adds ") < 0, std::string(change) == "rise") << found;
  }
}

TEST(CountTrend, OfDiffusingCountsIsNotNamed) {
  const tests::ScratchFolder scratch;
  for (int trial = 0; trial < 4; ++trial) {
    SimulatePhotonsConfig simulate;
    simulate.output = scratch / "diffusion.npy";
    simulate.overwrite = true;
    simulate.sensors = 4;
    simulate.duration_s = 2;
    simulate.bin_s = 1e-4;
    simulate.model.species = {{1, 2e-3, 5e4}};
    simulate.seed = tests::generator()();
    simulate_photons(simulate);
    AutocorrelateConfig config = config_for(simulate.output);
    config.bin_s = 1e-4;
    AutocorrelateSummary summary;
    run(config, summary);
    EXPECT_EQ(warned(summary), "");
  }
}

}  // namespace
}  // namespace tautline::pipeline
