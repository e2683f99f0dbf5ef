// Models and their derivatives; fits that say whether the model describes the curve; several curves together;
// detectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/fit_examples.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using namespace tests;

// Noise of 2 %.
core::CorrelationCurves noisy(const fit::Model& model,
                              const std::vector<std::vector<double>>& values,
                              std::mt19937_64& random) {
  auto c = exact(model, values, 0.02);
  add_noise(c, random);
  return c;
}

TEST(FitModel, DerivativesAreThoseOfTheValues) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> near(0.5, 2);
  for (const Model& model : kModels)
    for (int round = 0; round < 50; ++round) {
      std::vector<double> p = true_values(model);
      for (double& value : p) value *= std::min(near(random), 1 / (value + 0.3) + 1);
      if (model == kPixel && round % 5 == 0) p[2] = 0;
      const double lag = std::pow(10.0, -7 + 6 * (near(random) - 0.5) / 1.5);
      std::vector<double> gradient(p.size());
      fit::evaluate(model, p, lag, gradient);
      for (std::size_t k = 0; k < p.size(); ++k) {
        const double step = 1e-5 * (p[k] == 0 ? 1 : p[k]);
        if (model == kPixel && p[2] == 0 && k == 2) continue;
        std::vector<double> up = p, down = p;
        up[k] += step;
        down[k] -= step;
        const double numeric =
            (fit::evaluate(model, up, lag, {}) - fit::evaluate(model, down, lag, {})) / (2 * step);
        EXPECT_NEAR(gradient[k], numeric, 1e-6 * (std::abs(numeric) + std::abs(1e-4 / step)))
            << fit::name_of(model) << " parameter " << k;
      }
    }
}

TEST(FitModel, FormulaeAtKnownPlaces) {
  // N particles, at the diffusion time: 1 / (2 sqrt(1 + 1/25)).
  const std::vector<double> p = {4, 1e-3, 5, 0.01};
  EXPECT_NEAR(fit::evaluate(kPlain, p, 1e-3, {}), 0.25 / 2 / std::sqrt(1.04) + 0.01, 1e-15);
  EXPECT_NEAR(fit::amplitude(kPlain, p), 0.25, 1e-15);
  const std::vector<double> t = {4, 1e-3, 0.2, 1e-6, 5, 0};
  EXPECT_NEAR(fit::amplitude(kTriplet, t), 0.25 * 1.25, 1e-15);
  // A pixel without blur: at tau_D, p = 1, erf(1) + (exp(-1) - 1) / sqrt(pi), squared.
  const std::vector<double> q = {2, 0.5, 0, 0};
  const double share = std::erf(1.0) + (std::exp(-1.0) - 1) / std::sqrt(M_PI);
  EXPECT_NEAR(fit::evaluate(kPixel, q, 0.5, {}), 0.5 * share * share, 1e-15);
  EXPECT_NEAR(fit::evaluate(kPixel, q, 0, {}), 0.5, 1e-15);
}

TEST(FitModelNames, AreComposed) {
  for (const char* name : {"3d", "3d-flow", "3d-anomalous", "2x3d", "2d-pixel", "cumulants1",
                           "cumulants2", "cumulants3", "3d+triplet", "2x3d+triplet",
                           "3d-flow+triplet+afterpulsing", "2d-pixel+afterpulsing"}) {
    const fit::Model model = fit::parse_model(name);
    EXPECT_EQ(fit::name_of(model), name);
    const auto parameters = fit::parameters_of(model);
    std::vector<double> values, gradient(parameters.size());
    for (const fit::Parameter& p : parameters) values.push_back(p.value);
    EXPECT_TRUE(std::isfinite(fit::evaluate(model, values, 1e-4, gradient))) << name;
  }
  EXPECT_EQ(fit::parse_model("3d+afterpulsing+triplet"),
            fit::parse_model("3d+triplet+afterpulsing"));
  for (const char* name : {"", "4d", "3d+", "+triplet", "3d+triplet+triplet", "cumulants4"})
    EXPECT_THROW(fit::parse_model(name), core::Error) << name;
}

TEST(FitModel, FormulaeOfOtherShapesAtKnownPlaces) {
  const fit::Model flow{Shape::flow_3d}, anomalous{Shape::anomalous_3d};
  // At tau_D = tau_v: 1 / (2 sqrt(1 + 1/25)) exp(-1 / 2).
  EXPECT_NEAR(fit::evaluate(flow, {{2, 1e-3, 1e-3, 5, 0}}, 1e-3, {}),
              0.5 / 2 / std::sqrt(1.04) * std::exp(-0.5), 1e-15);
  // (1/4)^(1/2) in the place of lag / tau_D.
  EXPECT_NEAR(fit::evaluate(anomalous, {{2, 4e-3, 0.5, 5, 0}}, 1e-3, {}),
              0.5 / 1.5 / std::sqrt(1 + 0.5 / 25), 1e-15);
  const fit::Model cubic{Shape::cumulants_3};
  EXPECT_NEAR(fit::evaluate(cubic, {{0.4, 100, 0.2, 0.3, 0.01}}, 0.02, {}),
              0.4 * std::exp(-4.0) * std::pow(1 + 0.2 * 2 - 0.3 * 8 / 6, 2) + 0.01, 1e-15);
  const fit::Model after{Shape::diffusion_3d, false, true};
  EXPECT_NEAR(fit::evaluate(after, {{2, 1e3, 0.7, 1e-6, 5, 0}}, 1e-6, {}),
              0.5 + 0.7 * std::exp(-1.0), 1e-8);
  EXPECT_NEAR(fit::amplitude(after, {{2, 1e3, 0.7, 1e-6, 5, 0}}), 0.5, 1e-15);
}

// A polydisperse sample: the second cumulant is the variance of its decay rates, for any distribution.
TEST(FitModels, CumulantsAreTheMomentsOfTheDecayRates) {
  auto random = tests::generator();
  const double gamma = 500 + static_cast<double>(random() % 1000);
  // Two rates of equal weight, gamma (1 +- 0.2): mu_2 / gamma^2 = 0.04, mu_3 = 0.
  core::CorrelationCurves c;
  c.curves = 1;
  for (int k = 1; k <= 100; ++k) c.lag_s.push_back(0.01 * k / gamma);
  c.lags = c.lag_s.size();
  for (const double lag : c.lag_s) {
    const double field = (std::exp(-1.2 * gamma * lag) + std::exp(-0.8 * gamma * lag)) / 2;
    c.g.push_back(0.6 * field * field);
    c.standard_error.push_back(1e-5);
  }
  c.first.resize(1);
  FitConfig config;
  config.model = fit::parse_model("cumulants3");
  config.q_per_um = 20;
  const FitResult result = fit_curves(c, config);
  const auto& values = result.fits[0].solution.values;
  EXPECT_TRUE(result.fits[0].status.starts_with("the curve does not need a third cumulant"))
      << result.fits[0].status;
  EXPECT_NEAR(values[0], 0.6, 1e-4);
  EXPECT_NEAR(values[1] / gamma, 1, 1e-3);
  EXPECT_NEAR(values[2], 0.04, 4e-3);
  EXPECT_NEAR(values[3], 0, 2e-2);
  EXPECT_NEAR(result.fits[0].d_um2_per_s, gamma / 400, 1e-3 * gamma / 400);
}

// A wrong model is not ok; the right one is, and the limit follows the segments.
TEST(FitVerdict, ReducedChiSquaredSaysSo) {
  auto random = tests::generator();
  const fit::Model two = fit::parse_model("2x3d");
  const auto c = noisy(two, {{2, 2e-5, 5e-3, 0.5, 5, 0}, {3, 3e-5, 8e-3, 0.6, 5, 0}}, random);
  const FitResult wrong = fit_curves(c, {});
  EXPECT_EQ(wrong.good, 0u);
  for (const CurveFit& one : wrong.fits)
    EXPECT_NE(one.status.find("the model does not describe the curve: reduced chi-squared"),
              std::string::npos)
        << one.status;
  FitConfig config;
  config.model = two;
  const FitResult right = fit_curves(c, config);
  EXPECT_EQ(right.good, 2u) << right.fits[0].status;
  FitConfig lenient;
  lenient.highest_reduced_chi2 = 1e6;
  EXPECT_EQ(fit_curves(c, lenient).good, 2u);
  EXPECT_GT(fit::largest_reduced_chi_squared(100, 10), 9.0 / 7);
  EXPECT_LT(fit::largest_reduced_chi_squared(100, 20), fit::largest_reduced_chi_squared(100, 10));
  EXPECT_LT(fit::largest_reduced_chi_squared(400, 10), fit::largest_reduced_chi_squared(100, 10));
  EXPECT_EQ(fit::largest_reduced_chi_squared(100, 0), fit::largest_reduced_chi_squared(100, 10));
}

// Sums of squares of errors that go together in pairs: noise exceeds the limit once in a thousand times, and in curves
// of ten segments, whose errors are uncertain themselves, a few times as often at most.
TEST(FitVerdict, NoiseExceedsTheLimitOnceInAThousandFits) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  constexpr int kFits = 20'000;
  for (const int lags : {20, 100})
    for (const std::size_t segments : {10, 2000}) {
      const double limit = fit::largest_reduced_chi_squared(lags, segments);
      std::chi_squared_distribution<double> scatter(static_cast<double>(segments - 1));
      int exceeded = 0;
      for (int turn = 0; turn < kFits; ++turn) {
        double sum = 0;
        for (int pair = 0; pair < lags / 2; ++pair) {
          const double error = normal(random);
          sum += 2 * error * error * static_cast<double>(segments - 1) / scatter(random);
        }
        exceeded += sum > limit * lags ? 1 : 0;
      }
      // 16 to 21 expected, and about 55 of ten segments: none once in 1e7 runs.
      EXPECT_LT(exceeded, segments == 10 ? 160 : 50) << lags << " " << segments;
      if (segments > 10) {
        EXPECT_GT(exceeded, 0) << lags;
      }
    }
}

// Afterpulsing at the shortest lags: a range that leaves them out is suggested, and is enough.
TEST(FitVerdict, ARangeIsSuggestedWhereTheShortestLagsSpoilTheFit) {
  auto random = tests::generator();
  const fit::Model real = fit::parse_model("3d+afterpulsing");
  const auto c =
      noisy(real, std::vector<std::vector<double>>(20, {3, 5e-4, 1.5, 4e-7, 5, 0}), random);
  const FitResult plain = fit_curves(c, {});
  EXPECT_EQ(plain.good, 0u);
  ASSERT_TRUE(std::isfinite(plain.suggested_lowest_lag_s));
  EXPECT_GT(plain.suggested_lowest_lag_s, 4e-7);
  EXPECT_LT(plain.suggested_lowest_lag_s, 1e-5);
  const auto said = [](const FitResult& result) {
    return std::any_of(result.warnings.begin(), result.warnings.end(), [](const std::string& w) {
      return w.find("the shortest lags spoil the fit") != std::string::npos &&
             w.find("`range_s`") != std::string::npos;
    });
  };
  EXPECT_TRUE(said(plain));
  FitConfig shorter;
  shorter.lowest_lag_s = 2 * plain.suggested_lowest_lag_s;
  const FitResult result = fit_curves(c, shorter);
  EXPECT_GE(result.good, 19u);
  EXPECT_NEAR(result.medians.at("n"), 3, 0.1);
  FitConfig with_term;
  with_term.model = real;
  const FitResult all = fit_curves(c, with_term);
  EXPECT_GE(all.good, 19u);
  EXPECT_FALSE(said(all));
}

// Dead time, with g + 1 near 0 within it, lowers the rest of the curve: the words are of its correction, not of a range.
TEST(FitVerdict, DeadTimeIsNamedWhereTheShortestLagsDip) {
  auto random = tests::generator();
  auto c = noisy(tests::kPlain,
                 std::vector<std::vector<double>>(20, tests::true_values(tests::kPlain)), random);
  for (std::size_t k = 0; k < c.g.size(); ++k)
    if (c.lag_s[k % c.lags] < 1e-6) c.g[k] -= 0.8;
  const FitResult result = fit_curves(c, {});
  EXPECT_TRUE(std::isfinite(result.suggested_lowest_lag_s));
  const auto number = [&](const char* words) {
    return std::ranges::count_if(
        result.warnings, [&](const std::string& w) { return w.find(words) != std::string::npos; });
  };
  EXPECT_EQ(number("give `dead_time_s`, and with it `range_s`"), 1);
  EXPECT_EQ(number("try `range_s`"), 0);
}

// Without the shortest lags the model may describe a change of the rate alone.
TEST(FitVerdict, NoRangeIsSuggestedWhereTheRateChanges) {
  auto random = tests::generator();
  const fit::Model real = fit::parse_model("3d+afterpulsing");
  auto c = noisy(real, std::vector<std::vector<double>>(20, {3, 5e-4, 1.5, 4e-7, 5, 0}), random);
  const auto set_rates = [&](auto rate) {
    for (core::CurveSignal& signal : c.first) {
      signal.trace = {};
      for (int k = 0; k < 1000; ++k) {
        signal.trace.time_s.push_back(k + 0.5);
        signal.trace.rate_khz.push_back(rate(k));
      }
    }
  };
  const auto suggested = [&] { return std::isfinite(fit_curves(c, {}).suggested_lowest_lag_s); };
  std::normal_distribution<double> noise;
  set_rates([&](int) { return 50 + noise(random); });
  EXPECT_TRUE(suggested());
  for (const bool steps : {false, true}) {
    set_rates([&](int k) { return (steps ? (k < 400 ? 50 : 30) : 50 - 0.02 * k) + noise(random); });
    c.detrended = false;
    EXPECT_FALSE(suggested()) << steps;
    c.detrended = true;
    EXPECT_TRUE(suggested()) << steps;
  }
}

// A second, slower species spoils more than the shortest lags: what fits the tail alone is no advice.
TEST(FitVerdict, NoRangeIsSuggestedThatKeepsTheTailAlone) {
  auto random = tests::generator();
  const fit::Model two = fit::parse_model("2x3d");
  for (const double slower : {5e-4, 1e-3, 2e-3}) {
    const auto c =
        noisy(two, std::vector<std::vector<double>>(20, {2, 5e-5, slower, 0.6, 5, 0}), random);
    const FitResult result = fit_curves(c, {});
    EXPECT_EQ(result.good, 0u) << slower;
    EXPECT_TRUE(std::isnan(result.suggested_lowest_lag_s))
        << slower << ": " << result.suggested_lowest_lag_s;
  }
}

// Nor is one that keeps a drift of the rate alone: a small and slow decay behind the whole curve.
TEST(FitVerdict, NoRangeIsSuggestedThatKeepsADriftAlone) {
  auto random = tests::generator();
  const fit::Model two = fit::parse_model("2x3d");
  const auto c =
      noisy(two, std::vector<std::vector<double>>(20, {2, 2e-5, 1e-1, 0.94, 5, 0}), random);
  const FitResult result = fit_curves(c, {});
  EXPECT_EQ(result.good, 0u);
  EXPECT_TRUE(std::isnan(result.suggested_lowest_lag_s)) << result.suggested_lowest_lag_s;
}

// One diffusion time for four curves: equal in all, its error the scatter, and half of that of one curve alone.
TEST(FitTogether, SharedParametersAreOneValueWithItsError) {
  constexpr int kTrials = 150;
  auto random = tests::generator();
  double pull = 0, pull2 = 0, own2 = 0, narrower = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<std::vector<double>> truth{
        {1, 2e-4, 5, 0}, {2, 2e-4, 5, 0}, {4, 2e-4, 5, 0}, {8, 2e-4, 5, 0}};
    const auto c = noisy(kPlain, truth, random);
    FitConfig config;
    const FitResult alone = fit_curves(c, config);
    config.shared = {"tau_d_s"};
    const FitResult together = fit_curves(c, config);
    ASSERT_EQ(together.good, 4u) << together.fits[0].status;
    for (std::size_t k = 0; k < 4; ++k) {
      const auto& one = together.fits[k].solution;
      EXPECT_EQ(one.values[1], together.fits[0].solution.values[1]);
      EXPECT_EQ(one.standard_errors[1], together.fits[0].solution.standard_errors[1]);
      const double own = (one.values[0] - truth[k][0]) / one.standard_errors[0];
      own2 += own * own / 4 / kTrials;
      EXPECT_NEAR(one.values[0], truth[k][0], 0.2 * truth[k][0]);
    }
    const auto& first = together.fits[0].solution;
    const double d = (first.values[1] - 2e-4) / first.standard_errors[1];
    pull += d / kTrials;
    pull2 += d * d / kTrials;
    double best = 1;
    for (const CurveFit& one : alone.fits) best = std::min(best, one.solution.standard_errors[1]);
    narrower += first.standard_errors[1] / best / kTrials;
  }
  // Of 150 draws: the mean is known to 0.082, the mean square to 0.115; six times that comes once in 1e8 runs.
  EXPECT_NEAR(pull, 0, 0.5);
  EXPECT_NEAR(pull2, 1, 0.7);
  EXPECT_NEAR(own2, 1, 0.4);
  EXPECT_LT(narrower, 0.9);
}

TEST(FitTogether, WhatIsNoParameterIsRefused) {
  auto random = tests::generator();
  const auto c = noisy(kPlain, {{1, 2e-4, 5, 0}}, random);
  FitConfig config;
  config.shared = {"tau"};
  EXPECT_THROW(fit_curves(c, config), core::Error);
}

// Sharing everything between a curve and its copy changes nothing but the errors, by the square root of 2.
TEST(FitTogether, ACurveTwiceIsThatCurve) {
  auto random = tests::generator();
  const auto once = noisy(kPlain, {{2, 2e-4, 5, 0}}, random);
  core::CorrelationCurves twice = once;
  twice.curves = 2;
  twice.g.insert(twice.g.end(), once.g.begin(), once.g.end());
  twice.standard_error.insert(twice.standard_error.end(), once.standard_error.begin(),
                              once.standard_error.end());
  twice.first.push_back(once.first[0]);
  FitConfig config;
  const auto one = fit_curves(once, config).fits[0].solution;
  config.shared = {"n", "tau_d_s"};
  for (const CurveFit& two : fit_curves(twice, config).fits)
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      EXPECT_NEAR(two.solution.values[k], one.values[k], 1e-5 * one.values[k]);
      EXPECT_NEAR(two.solution.standard_errors[k] * std::sqrt(2), one.standard_errors[k],
                  1e-3 * one.standard_errors[k]);
    }
}

core::CorrelationCurves correlated(const SimulatePhotonsConfig& simulation, double bin_s) {
  AutocorrelateConfig config;
  config.input = simulation.output;
  config.bin_s = bin_s;
  config.lag_scheme = stages::autocorrelate::LagScheme::standard;
  config.bins = 16;
  config.levels = 6;
  AutocorrelateSummary summary;
  return correlate_counts(config, device::open(device::parse_selection("cpu"), {}), summary);
}

// Constant light and a detector with afterpulses: what is corrected is 0 within its errors.
TEST(DetectorCorrection, AfterpulsesOfTheSimulationAreTakenOut) {
  const tests::ScratchFolder folder;
  SimulatePhotonsConfig simulation;
  simulation.output = folder / "x.npy";
  simulation.sensors = 6;
  simulation.duration_s = 2;
  simulation.bin_s = 2e-7;
  simulation.seed = tests::seed();
  parse_photon_model("diffusion:n=1,tau=1e-2,rate=0.001", simulation.model);
  simulation.model.background_hz = 2e5;
  simulation.model.afterpulsing = 0.05;
  simulation.model.afterpulse_tau_s = 5e-7;
  simulate_photons(simulation);
  core::CorrelationCurves c = correlated(simulation, simulation.bin_s);
  const core::CorrelationCurves before = c;
  fit::correct_for_detector({0, 0.05, 5e-7}, c);
  for (std::size_t i = 0; i < c.g.size(); ++i)
    EXPECT_EQ(std::isfinite(c.g[i]), std::isfinite(before.g[i])) << c.lag_s[i % c.lags];
  double chi2 = 0, chi2_before = 0, points = 0;
  for (std::size_t k = 0; k < c.curves; ++k)
    for (std::size_t l = 1; l < 12; ++l) {
      const double error = before.standard_error[k * c.lags + l];
      chi2 += std::min(25.0, std::pow(c.g[k * c.lags + l] / error, 2));
      chi2_before += std::pow(before.g[k * c.lags + l] / error, 2);
      points += 1;
    }
  // Errors of ten segments: 9 / 7 on average, of squares that a single one may dominate.
  EXPECT_LT(chi2 / points, 3);
  EXPECT_GT(chi2_before / points, 10);
}

// A detector that is dead for a time after each count, of which light that changes slowly knows nothing else.
TEST(DetectorCorrection, DeadTimeRaisesWhatItLowered) {
  auto random = tests::generator();
  core::CorrelationCurves c = noisy(kPlain, {{2, 2e-4, 5, 0}}, random);
  const core::CorrelationCurves before = c;
  // Light of two brightnesses, half of the time each: the rate that is seen is r / (1 + r t).
  const double t = 1e-6, low = 5e4, high = 6e4;
  const auto seen = [&](double rate) { return rate / (1 + rate * t); };
  const auto variance = [](double a, double b) { return std::pow((a - b) / (a + b), 2); };
  const double lowered = variance(seen(low), seen(high)) / variance(low, high);
  c.first[0].mean_rate_hz = (seen(low) + seen(high)) / 2;
  fit::correct_for_detector({t, 0, 0}, c);
  for (std::size_t l = 0; l < c.lags; ++l) {
    EXPECT_NEAR(c.g[l] * lowered, before.g[l], 1e-3 * std::abs(before.g[l]));
    EXPECT_NEAR(c.standard_error[l] * lowered, before.standard_error[l],
                1e-3 * c.standard_error[l]);
  }
  EXPECT_THROW(fit::correct_for_detector({1e-4, 0, 0}, c), core::Error);  // dead most of the time
  c.first[0].mean_rate_hz = std::nan("");
  EXPECT_THROW(fit::correct_for_detector({1e-6, 0, 0}, c), core::Error);
}

}  // namespace
}  // namespace tautline::pipeline
