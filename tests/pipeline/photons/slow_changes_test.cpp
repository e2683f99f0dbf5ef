// Slow changes of the rate that a fitted model does not explain are named where they move the result; the fluctuations of
// diffusing molecules are none.
#include "tautline/pipeline/photons/fit/slow_changes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/count_files.h"
#include "tests/pipeline/photons/fit_examples.h"

namespace tautline::pipeline {
namespace {

using Level = std::function<double(double)>;  // of the part of the run that is over

// Curves of simulated diffusion.
core::CorrelationCurves simulated_curves(std::size_t sensors, double seconds, double n,
                                         double tau_s, std::mt19937_64& random) {
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
  AutocorrelateSummary summary;
  return correlate_counts(config, device::open({}, {.threads = 2}), summary);
}

// Curves and traces of diffusion in light of this level, with noise: g + 1 is multiplied by the level's mean square over
// its squared mean.
core::CorrelationCurves curves_in_light(std::size_t curves, const Level& level,
                                        std::mt19937_64& random) {
  constexpr std::size_t kCells = 1000;
  constexpr double kCell_s = 0.01, kCountsOfCell = 1000, kRelativeError = 0.03;
  const std::vector<double> values = tests::true_values(tests::kPlain);
  std::vector<double> levels;
  double mean = 0, square = 0;
  for (std::size_t k = 0; k < kCells; ++k) {
    levels.push_back(level((static_cast<double>(k) + 0.5) / kCells));
    mean += levels.back() / kCells;
    square += levels.back() * levels.back() / kCells;
  }
  auto c = tests::exact(tests::kPlain, curves, kRelativeError);
  c.duration_s = kCells * kCell_s;
  for (double& g : c.g) g = (1 + g) * square / (mean * mean) - 1;
  tests::add_noise(c, random);
  std::normal_distribution<double> molecules(
      1, std::sqrt(fit::variance_of_mean(tests::kPlain, values, kCell_s)));
  for (core::CurveSignal& signal : c.first)
    for (std::size_t k = 0; k < kCells; ++k) {
      std::poisson_distribution<int> counts(kCountsOfCell * levels[k] *
                                            std::max(0.0, molecules(random)));
      signal.trace.time_s.push_back(kCell_s * (static_cast<double>(k) + 0.5));
      signal.trace.rate_khz.push_back(counts(random) / kCell_s / 1e3);
    }
  return c;
}

// As slow changes, or as steps.
std::size_t named(const FitResult& result) {
  std::size_t count = 0;
  for (const CurveFit& one : result.fits)
    count += one.slow_changes.empty() && !one.rate_steps ? 0 : 1;
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

// Of few and of many molecules, fast and slow ones: a run of 2 s has 500 to 7,000 diffusion times. Chance names one in
// some 100,000.
TEST(SlowChanges, AreNotSeenInDiffusion) {
  auto random = tests::generator();
  std::size_t found = 0;
  for (const auto& [n, tau_s] : {std::pair{0.3, 3e-4}, {0.3, 4e-3}, {2.0, 3e-4}, {2.0, 4e-3}})
    found += named(fit_curves(simulated_curves(4, 2, n, tau_s, random), {}));
  EXPECT_LE(found, 1u);
}

// A lamp that falls by a part, one that dims for a while, and bleaching, in curves that have the shape of the model as
// far as noise tells: their fits are wrong, and named.
TEST(SlowChanges, LeaveNoFitOkThatIsWrong) {
  auto random = tests::generator();
  const Level levels[] = {[](double part) { return part < 0.5 ? 1.0 : 0.85; },
                          [](double part) { return part > 0.3 && part < 0.5 ? 0.8 : 1.0; },
                          [](double part) { return std::exp(-0.3 * part); }};
  constexpr double kWrong = 0.05;
  constexpr std::size_t kCurves = 30;
  const double tau_s = tests::true_values(tests::kPlain)[1];
  for (const Level& level : levels) {
    SCOPED_TRACE(testing::Message() << "change " << &level - levels);
    FitConfig config;
    config.highest_lag_s = 5e-3;
    const FitResult result = fit_curves(curves_in_light(kCurves, level, random), config);
    std::size_t wrong = 0, wrong_and_ok = 0;
    for (const CurveFit& one : result.fits) {
      const bool is_wrong = std::abs(one.solution.values[1] - tau_s) > kWrong * tau_s;
      wrong += is_wrong ? 1 : 0;
      wrong_and_ok += is_wrong && one.good() ? 1 : 0;
    }
    EXPECT_GE(wrong, kCurves - 5);
    EXPECT_LE(wrong_and_ok, 1u);
    EXPECT_GE(named(result), kCurves - 5);
  }
  const Level steady = [](double) { return 1.0; };
  EXPECT_LE(named(fit_curves(curves_in_light(kCurves, steady, random), {})), 1u);
}

// A dye of which most bleaches: no lags are left that the model describes, and the fall is the reason.
TEST(SlowChanges, OfMostOfTheLightAreNamed) {
  auto random = tests::generator();
  constexpr std::size_t kCurves = 10;
  for (const double decay : {1.2, 1.6}) {
    SCOPED_TRACE(testing::Message() << "decay " << decay);
    const Level level = [decay](double part) { return std::exp(-decay * part); };
    const FitResult result = fit_curves(curves_in_light(kCurves, level, random), {});
    EXPECT_EQ(result.good, 0u);
    EXPECT_EQ(named(result), kCurves);
  }
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
