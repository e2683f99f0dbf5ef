// Slow changes of the rate that a fitted model does not explain are named where they move the result; the fluctuations of
// diffusing molecules are none.
#include "tautline/pipeline/photons/fit/slow_changes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/count_files.h"
#include "tests/pipeline/photons/fit_examples.h"

namespace tautline::pipeline {
namespace {

using Level = std::function<double(double)>;  // of the part of the run that is over

// Curves of simulated diffusion, whose photons are kept with the probability `level`.
core::CorrelationCurves curves_of(std::size_t sensors, double seconds, double n, double tau_s,
                                  std::mt19937_64& random, const Level& level = {}) {
  const tests::ScratchFolder scratch;
  SimulatePhotonsConfig simulate;
  simulate.output = scratch / "diffusion.npy";
  simulate.sensors = sensors;
  simulate.duration_s = seconds;
  simulate.bin_s = 4e-5;
  simulate.model.species = {{n, tau_s, 1e5}};
  simulate.seed = random();
  simulate_photons(simulate);
  AutocorrelateConfig config = tests::config_for(simulate.output);
  config.bin_s = simulate.bin_s;
  config.bins = 16;
  config.levels = 12;
  if (level) {
    const auto reader = formats::open_counts(simulate.output, {});
    const auto samples = static_cast<std::size_t>(reader->total_samples());
    std::vector<std::uint8_t> counts(samples * sensors);
    reader->read(std::as_writable_bytes(std::span(counts)));
    for (std::size_t k = 0; k < counts.size(); ++k)
      if (counts[k] > 0)
        counts[k] = static_cast<std::uint8_t>(std::binomial_distribution<int>(
            counts[k],
            level(static_cast<double>(k / sensors) / static_cast<double>(samples)))(random));
    config.input = tests::save(scratch, counts, sensors);
  }
  AutocorrelateSummary summary;
  return correlate_counts(config, device::open({}, {.threads = 2}), summary);
}

std::size_t named(const FitResult& result) {
  std::size_t count = 0;
  for (const CurveFit& one : result.fits) count += one.slow_changes.empty() ? 0 : 1;
  return count;
}

// In closed form, of beta exp(-2 Gamma t): 2 beta (x - 1 + exp(-x)) / x^2, x = 2 Gamma T.
TEST(SlowChanges, TheVarianceOfAMeanIsTheIntegralOfTheCurve) {
  for (const double gamma_hz : {2.0, 50.0, 3e3})
    for (const double time_s : {1e-3, 0.1, 4.0}) {
      const double x = 2 * gamma_hz * time_s;
      const double expected = 0.4 * 2 * (x - 1 + std::exp(-x)) / (x * x);
      const double found = fit::variance_of_mean({fit::Shape::cumulants_1, false, false},
                                                 std::vector<double>{0.4, gamma_hz, 0}, time_s);
      EXPECT_NEAR(found, expected, 0.01 * expected) << gamma_hz << " " << time_s;
    }
}

// Of few and of many molecules, fast and slow ones: a run of 3 s has 750 to 10,000 diffusion times.
TEST(SlowChanges, AreNotSeenInDiffusion) {
  auto random = tests::generator();
  for (const auto& [n, tau_s] : {std::pair{0.3, 3e-4}, {0.3, 4e-3}, {3.0, 3e-4}, {3.0, 4e-3}}) {
    const FitResult result = fit_curves(curves_of(6, 3, n, tau_s, random), {});
    EXPECT_EQ(named(result), 0u) << n << " " << tau_s;
  }
}

// A lamp that falls to 70 %, one that dims for a while, and bleaching, under the fluctuations of a few molecules, which
// hide the steps: a fit is right, or not ok, and a range whose fit is wrong is not suggested.
TEST(SlowChanges, LeaveNoFitOkThatIsWrong) {
  auto random = tests::generator();
  const Level levels[] = {[](double part) { return part < 0.5 ? 1.0 : 0.7; },
                          [](double part) { return part > 0.3 && part < 0.5 ? 0.6 : 1.0; },
                          [](double part) { return std::exp(-0.7 * part); }};
  constexpr double kTau_s = 3e-4;
  std::size_t found = 0;
  for (const double n : {1.0, 4.0})
    for (const Level& level : levels) {
      SCOPED_TRACE(testing::Message() << n << " molecules, change " << &level - levels);
      const auto curves = curves_of(4, 3, n, kTau_s, random, level);
      const auto check = [&](const FitResult& result) {
        for (const CurveFit& one : result.fits)
          if (one.good()) {
            EXPECT_NEAR(one.solution.values[1], kTau_s,
                        0.1 * kTau_s + 5 * one.solution.standard_errors[1]);
          }
        found += named(result);
      };
      for (const double highest_lag_s : {0.02, 1.0}) {
        FitConfig config;
        config.highest_lag_s = highest_lag_s;
        const FitResult result = fit_curves(curves, config);
        check(result);
        if (std::isnan(result.suggested_lowest_lag_s)) continue;
        config.lowest_lag_s = result.suggested_lowest_lag_s;
        check(fit_curves(curves, config));
      }
    }
  EXPECT_GT(found, 0u);
}

// The rates of two detectors that step together: counting noise of one is not in the other.
TEST(SlowChanges, OfCrossCorrelationsAreNamed) {
  auto random = tests::generator();
  auto c = tests::exact(tests::kPlain, 1, 0.02);
  c.cross = true;
  c.second = c.first;
  const auto set_rates = [&](double step) {
    for (auto* signal : {&c.first[0], &c.second[0]}) {
      signal->trace = {};
      for (int k = 0; k < 1000; ++k) {
        std::poisson_distribution<int> counts(k < 400 ? 20 : 20 * step);
        signal->trace.time_s.push_back(0.01 * (k + 0.5));
        signal->trace.rate_khz.push_back(0.1 * counts(random));
      }
    }
  };
  const auto found = [&] {
    return fit::slow_change_of(tests::kPlain, tests::true_values(tests::kPlain), c.first[0].trace,
                               c.second[0].trace);
  };
  set_rates(1);
  EXPECT_FALSE(found());
  set_rates(0.85);
  const auto change = found();
  ASSERT_TRUE(change);
  // 0.4 x 0.6 x (0.15 / 0.91)^2
  EXPECT_NEAR(change->added, 0.0065, 0.005);  // its error is 0.001
}

// Of a run of few diffusion times a single change of the rate cannot be told.
TEST(SlowChanges, ADecayThatLastsForAPartOfTheRunIsDoubtful) {
  auto c = tests::exact(tests::kPlain, 1, 0.02);
  c.duration_s = 40 * 2e-4;
  EXPECT_EQ(fit_curves(c, {}).good, 1u);
  c.duration_s = 15 * 2e-4;
  const FitResult result = fit_curves(c, {});
  EXPECT_EQ(result.fits[0].status, "the curve falls in more than 1/20 of the run");
}

// What a range leaves out is not always the detector's: the rest of the curve is another species, or a change of the
// rate. A dark state is left out as before.
TEST(SlowChanges, ARangeThatLeavesOutTheFallIsDoubtful) {
  const fit::Model two = fit::parse_model("2x3d");
  FitConfig config;
  config.lowest_lag_s = 2e-2;
  const std::string status =
      fit_curves(
          tests::exact(two, std::vector<std::vector<double>>(1, {2, 5e-4, 1e-1, 0.6, 5, 0}), 0.02),
          config)
          .fits[0]
          .status;
  EXPECT_TRUE(status.starts_with("the curve before the range is 2")) << status;
  config.lowest_lag_s = 3e-5;
  EXPECT_EQ(fit_curves(tests::exact(tests::kTriplet, 1, 0.02), config).fits[0].status, "ok");
}

// The record of a file says that counts stop: whatever the curve is, a range of it is no remedy.
TEST(SlowChanges, NoRangeIsSuggestedWhereCountsStop) {
  auto random = tests::generator();
  const fit::Model real = fit::parse_model("3d+afterpulsing");
  auto c =
      tests::exact(real, std::vector<std::vector<double>>(1, {3, 5e-4, 1.5, 4e-7, 5, 0}), 0.02);
  tests::add_noise(c, random);
  EXPECT_TRUE(std::isfinite(fit_curves(c, {}).suggested_lowest_lag_s));
  const FitResult result = fit_curves(c, {}, {}, {}, {true});
  EXPECT_TRUE(std::isnan(result.suggested_lowest_lag_s));
  EXPECT_TRUE(result.fits[0].counts_stop);
  EXPECT_TRUE(result.fits[0].status.starts_with("counts stop, which bends the curve; the model"))
      << result.fits[0].status;
  for (const std::string& warning : result.warnings)
    EXPECT_EQ(warning.find("shortest lags"), std::string::npos) << warning;
}

}  // namespace
}  // namespace tautline::pipeline
