// Count rates that step are named with their place and levels, and fits of their curves are doubtful; fluctuations give
// no alarm.
#include "tautline/pipeline/photons/rate_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

using tests::config_for;

constexpr double kCell_s = 0.02;

core::RateTrace trace_of(std::vector<double> rates) {
  core::RateTrace trace;
  for (std::size_t k = 0; k < rates.size(); ++k)
    trace.time_s.push_back((static_cast<double>(k) + 0.5) * kCell_s);
  trace.rate_khz = std::move(rates);
  return trace;
}

// Poisson counts of a light that fluctuates by `rms` and is correlated over `correlated` cells; `level` of each cell.
core::RateTrace fluctuating(std::mt19937_64& random, std::size_t cells, double rms,
                            double correlated, const std::function<double(std::size_t)>& level,
                            double counts = 500) {
  std::normal_distribution<double> noise;
  const double kept = std::exp(-1 / correlated);
  double now = noise(random);
  std::vector<double> rates;
  for (std::size_t k = 0; k < cells; ++k) {
    const double light = counts * level(k) * std::exp(rms * now - rms * rms / 2);
    rates.push_back(std::poisson_distribution<int>(light)(random));
    now = kept * now + std::sqrt(1 - kept * kept) * noise(random);
  }
  return trace_of(std::move(rates));
}

// Steps are found in 3 of 1,000 such series, most of which change over a tenth of their length or more, and in more than
// 20 of 1,000 once in 1e9 runs.
TEST(RateSteps, AreNotSeenInFluctuations) {
  auto random = tests::generator();
  std::size_t found = 0;
  std::uniform_real_distribution<double> part;
  for (int trial = 0; trial < 1000; ++trial) {
    const std::size_t cells = 65 + static_cast<std::size_t>(935 * part(random));
    const double correlated = std::exp(std::log(0.3) + std::log(3000) * part(random));
    const double rms = std::exp(std::log(0.05) * part(random));
    const double counts = std::exp(std::log(0.1) + std::log(1e4) * part(random));
    found += rate_steps(fluctuating(
                            random, cells, rms, correlated, [](std::size_t) { return 1; }, counts))
                     .empty()
                 ? 0
                 : 1;
  }
  EXPECT_LE(found, 20u);
}

TEST(RateSteps, AreFoundWithTheirPlaceAndLevels) {
  auto random = tests::generator();
  std::uniform_int_distribution<std::size_t> length(600, 1000);
  for (const double rms : {0.0, 0.05, 0.1})
    for (const double correlated : {0.1, 1.0})
      for (const double low : {0.0, 0.002, 0.5, 0.6}) {
        if (rms > 0.05 && low > 0.1) continue;  // not found now and then
        SCOPED_TRACE(testing::Message() << rms << " " << correlated << " " << low);
        const std::size_t cells = length(random);
        const std::size_t first = 3 * cells / 10, end = 5 * cells / 10;
        const auto in_the_middle = [&](std::size_t k) { return k >= first && k < end ? low : 1; };
        const auto after = [&](std::size_t k) { return k >= first ? low : 1; };
        const auto two = rate_steps(fluctuating(random, cells, rms, correlated, in_the_middle));
        ASSERT_EQ(two.size(), 2u);
        EXPECT_NEAR(two[0].time_s, static_cast<double>(first) * kCell_s, 2 * kCell_s);
        EXPECT_NEAR(two[1].time_s, static_cast<double>(end) * kCell_s, 2 * kCell_s);
        EXPECT_NEAR(two[0].before_khz, 500, 60);
        EXPECT_NEAR(two[0].after_khz, 500 * low, 1 + 60 * low);
        EXPECT_EQ(two[0].after_khz, two[1].before_khz);
        const auto one = rate_steps(fluctuating(random, cells, rms, correlated, after));
        ASSERT_EQ(one.size(), 1u);
        EXPECT_NEAR(one[0].time_s, static_cast<double>(first) * kCell_s, 2 * kCell_s);
      }
}

// Over 30 % of fluctuation in each cell.
TEST(RateSteps, OfAShutterAreFoundHoweverTheLightFlickers) {
  auto random = tests::generator();
  int found = 0;
  for (int trial = 0; trial < 100; ++trial)
    found += rate_steps(fluctuating(random, 999, 0.3, 1,
                                    [](std::size_t k) { return k >= 300 && k < 420 ? 0.002 : 1; }))
                         .size() == 2
                 ? 1
                 : 0;
  EXPECT_GE(found, 85);
}

// Over 30 % of fluctuation in each cell, as of few diffusing molecules: some 93 in 100 falls to 65 % and 80 returns.
TEST(RateSteps, OfAThirdAreFoundInLightThatFluctuatesByAThird) {
  auto random = tests::generator();
  constexpr std::size_t kCells = 999;
  const auto is_near = [&](double time_s, double part) {
    return std::fabs(time_s - part * kCells * kCell_s) < 0.03 * kCells * kCell_s;
  };
  int fallen = 0, returned = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const auto fall = rate_steps(fluctuating(
        random, kCells, 0.3, 1, [](std::size_t k) { return k < 0.4 * kCells ? 1 : 0.65; }));
    fallen += fall.size() == 1 && is_near(fall[0].time_s, 0.4) &&
                      std::fabs(fall[0].after_khz / fall[0].before_khz - 0.65) < 0.15
                  ? 1
                  : 0;
    const auto dip = rate_steps(fluctuating(random, kCells, 0.3, 1, [](std::size_t k) {
      return k > 0.3 * kCells && k < 0.5 * kCells ? 0.65 : 1;
    }));
    returned += dip.size() == 2 && is_near(dip[0].time_s, 0.3) && is_near(dip[1].time_s, 0.5) &&
                        dip[1].after_khz > dip[1].before_khz
                    ? 1
                    : 0;
  }
  EXPECT_GE(fallen, 70);
  EXPECT_GE(returned, 50);
  std::printf("of 100 traces each: %d falls and %d returns are found\n", fallen, returned);
}

// Single cells with 2 or 20 % of the light, as of stops that are as long as a cell or shorter.
TEST(RateSteps, ShortFallsAreNamedWithTheirTimes) {
  auto random = tests::generator();
  constexpr std::size_t kCells = 999;
  for (const double low : {0.02, 0.2}) {
    const std::size_t first = 100 + random() % 300, second = 500 + random() % 300;
    const auto steps = rate_steps(fluctuating(random, kCells, 0.05, 0.3, [&](std::size_t k) {
      return k == first || k == second || k == second + 1 ? low : 1;
    }));
    ASSERT_EQ(steps.size(), 4u) << low;
    const auto at = [](std::size_t cell) { return static_cast<double>(cell) * kCell_s; };
    EXPECT_NEAR(steps[0].time_s, at(first), 1e-9);
    EXPECT_NEAR(steps[1].time_s, at(first + 1), 1e-9);
    EXPECT_NEAR(steps[2].time_s, at(second), 1e-9);
    EXPECT_NEAR(steps[3].time_s, at(second + 2), 1e-9);
    EXPECT_NEAR(steps[0].after_khz / steps[0].before_khz, low, 0.2);
    EXPECT_NEAR(steps[3].before_khz / steps[3].after_khz, low, 0.2);
  }
}

TEST(RateSteps, OfShortTracesAndDriftsAreNone) {
  std::vector<double> drift, few;
  for (int k = 0; k < 1000; ++k) drift.push_back(1000 * std::exp(-k / 300.0));
  for (int k = 0; k < 64; ++k) few.push_back(k < 32 ? 100 : 1);
  EXPECT_TRUE(rate_steps(trace_of(drift)).empty());
  EXPECT_TRUE(rate_steps(trace_of(few)).empty());
  EXPECT_TRUE(rate_steps({}).empty());
  EXPECT_TRUE(rate_steps(trace_of(std::vector<double>(500, 0))).empty());
}

// Counts whose mean falls to 60 % at half of the run, of every second of these sensors.
core::CorrelationCurves stepping(std::size_t sensors, AutocorrelateConfig change,
                                 std::vector<std::string>& warnings) {
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSamples = 200'000;
  auto random = tests::generator();
  std::poisson_distribution<int> bright(5), dark(3);
  std::vector<std::uint8_t> counts;
  for (std::size_t t = 0; t < kSamples; ++t)
    for (std::size_t s = 0; s < sensors; ++s)
      counts.push_back(static_cast<std::uint8_t>(2 * t < kSamples || s % 2 == 1 ? bright(random)
                                                                                : dark(random)));
  AutocorrelateConfig config = config_for(tests::save(scratch, counts, sensors));
  config.detrend = change.detrend;
  AutocorrelateSummary summary;
  core::CorrelationCurves curves =
      correlate_counts(config, device::open({}, {.threads = 2}), summary);
  warnings = summary.warnings;
  return curves;
}

// At half of a run of 2 s.
void expect_step(const std::string& warning, const std::string& begin) {
  ASSERT_TRUE(warning.starts_with(begin)) << warning;
  EXPECT_NEAR(std::atof(warning.c_str() + begin.size()), 1, 0.01) << warning;
  EXPECT_NE(warning.find(" kHz"), std::string::npos) << warning;
}

TEST(RateSteps, AreNamedAndNoTrendBeside) {
  std::vector<std::string> warnings;
  stepping(1, {}, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  expect_step(warnings[0], "the rate of counts steps at ");
  EXPECT_NE(warnings[0].find("`start_s` and `duration_s` keep a part"), std::string::npos)
      << warnings[0];
  AutocorrelateConfig detrended;
  detrended.detrend = true;
  stepping(1, detrended, warnings);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  stepping(3, {}, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  expect_step(warnings[0], "the rate of counts steps in 2 of 3 curves (first: sensor 0, at ");
}

TEST(RateSteps, LeaveNoFitOk) {
  const tests::ScratchFolder scratch;
  SimulatePhotonsConfig simulate;
  simulate.output = scratch / "diffusion.npy";
  simulate.duration_s = 4;
  simulate.bin_s = 1e-5;
  simulate.model.species = {{1, 2e-4, 5e4}};
  simulate.seed = tests::generator()();
  simulate_photons(simulate);
  AutocorrelateSummary summary;
  core::CorrelationCurves curves =
      correlate_counts(config_for(simulate.output), device::open({}, {.threads = 2}), summary);
  EXPECT_FALSE(fit_curves(curves, {}).fits[0].rate_steps);
  std::vector<double> rates(999, 50);
  std::fill_n(rates.begin() + 500, 499, 30.0);
  curves.first[0].trace = trace_of(rates);
  const FitResult result = fit_curves(curves, {});
  EXPECT_TRUE(result.fits[0].rate_steps);
  EXPECT_TRUE(result.fits[0].status.starts_with("the rate of counts steps, which bends the curve"))
      << result.fits[0].status;
  EXPECT_EQ(result.good, 0u);
  EXPECT_TRUE(std::isnan(result.suggested_lowest_lag_s));
  curves.detrended = true;
  EXPECT_FALSE(fit_curves(curves, {}).fits[0].rate_steps);
}

}  // namespace
}  // namespace tautline::pipeline
