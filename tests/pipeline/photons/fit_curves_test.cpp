// Fits: derivatives, exact curves, errors that mean what they say, bounds, hot and masked sensors.
#include "tautline/pipeline/photons/fit_curves.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/fit_page.h"
#include "tautline/pipeline/report/base64.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using fit::Model;
using fit::Shape;

const Model kPlain{}, kTriplet{Shape::diffusion_3d, true, false},
    kTwoSpecies{Shape::two_species_3d, true, false}, kPixel{Shape::pixel_2d, false, false};
const Model kModels[] = {kPlain,
                         kTriplet,
                         kTwoSpecies,
                         kPixel,
                         {Shape::flow_3d, false, false},
                         {Shape::anomalous_3d, false, false},
                         {Shape::diffusion_3d, false, true},
                         {Shape::flow_3d, true, true},
                         {Shape::cumulants_1, false, false},
                         {Shape::cumulants_2, false, false},
                         {Shape::cumulants_3, false, false}};
std::vector<double> true_values(const Model& model) {
  std::vector<double> values;
  switch (model.shape) {
    case Shape::diffusion_3d:
      values = {3.5, 2e-4};
      break;
    case Shape::flow_3d:
      values = {3.5, 1e-3, 5e-4};
      break;
    case Shape::anomalous_3d:
      values = {3.5, 2e-4, 0.75};
      break;
    case Shape::two_species_3d:
      values = {3.5, 1e-4, 1e-2, 0.4};
      break;
    case Shape::pixel_2d:
      return {12, 0.02, 0.8, 0};
    case Shape::cumulants_1:
      return {0.4, 2000, 0};
    case Shape::cumulants_2:
      return {0.4, 2000, 0.2, 0};
    case Shape::cumulants_3:
      return {0.4, 2000, 0.2, 0.1, 0};
  }
  if (model.triplet) {
    values.push_back(0.25);
    values.push_back(model == kTwoSpecies ? 2e-6 : 3e-6);
  }
  if (model.afterpulsing) values.insert(values.end(), {0.3, 4e-7});
  values.insert(values.end(), {5, 0});
  return values;
}

// Lags as a multi-tau correlator has them.
std::vector<double> lags() {
  std::vector<double> all;
  for (int level = 0; level < 20; ++level)
    for (int n = level == 0 ? 1 : 9; n <= 16; ++n) all.push_back(n * std::ldexp(2e-7, level));
  return all;
}

core::CorrelationCurves exact(const Model& model, std::size_t curves, double relative_error) {
  core::CorrelationCurves c;
  c.curves = curves;
  c.lag_s = lags();
  c.lags = c.lag_s.size();
  for (std::size_t k = 0; k < curves; ++k) {
    for (const double lag : c.lag_s) {
      c.g.push_back(fit::evaluate(model, true_values(model), lag, {}));
      c.standard_error.push_back(relative_error * (0.05 + c.g.back()));
    }
    core::CurveSignal signal;
    signal.label = "sensor " + std::to_string(k);
    signal.row = static_cast<std::int64_t>(k / 8);
    signal.column = static_cast<std::int64_t>(k % 8);
    signal.mean_rate_hz = 1e4 + static_cast<double>(k);
    c.first.push_back(signal);
  }
  return c;
}

void add_noise(core::CorrelationCurves& c) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  for (std::size_t k = 0; k < c.g.size(); ++k) c.g[k] += normal(random) * c.standard_error[k];
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

TEST(FitCurves, ExactCurvesGiveTheirParameters) {
  for (const Model& model : kModels) {
    FitConfig config;
    config.model = model;
    if (model == kPixel) config.fixed["blur"] = 0.8;
    const FitResult result = fit_curves(exact(model, 2, 0.02), config);
    for (const CurveFit& one : result.fits) {
      EXPECT_EQ(one.status, "ok") << fit::name_of(model);
      for (std::size_t k = 0; k < one.solution.values.size(); ++k)
        EXPECT_NEAR(one.solution.values[k], true_values(model)[k], 1e-4 * true_values(model)[k])
            << fit::name_of(model) << " " << result.parameters[k].name;
      EXPECT_LT(one.solution.chi_squared, 1e-4);
    }
  }
}

// With independent noise of known size the differences from the truth, over the errors that the fit
// states, have variance 1, and chi-squared its degrees of freedom.
TEST(FitCurves, StandardErrorsAreTheScatter) {
  constexpr std::size_t kCurves = 800;
  for (const Model& model : kModels)
    for (const bool weighted : {true, false}) {
      if (!weighted && model != kPlain) continue;
      // Two exponentials of similar times: under noise many fits exchange them.
      if (model.triplet && model.afterpulsing) continue;
      auto c = exact(model, kCurves, 0.02);
      if (!weighted)
        for (double& error : c.standard_error) error = 0.002;
      add_noise(c);
      if (!weighted) c.standard_error.clear();
      FitConfig config;
      config.model = model;
      if (model == kPixel) config.fixed["blur"] = 0.8;
      const FitResult result = fit_curves(c, config);
      EXPECT_GT(weighted ? result.good : result.unjudged, kCurves * 9 / 10) << fit::name_of(model);
      for (std::size_t k = 0; k < result.parameters.size(); ++k) {
        if (result.parameters[k].fixed) continue;
        std::vector<double> pulls;
        for (const CurveFit& one : result.fits)
          if (one.good() || one.unjudged)
            pulls.push_back((one.solution.values[k] - true_values(model)[k]) /
                            one.solution.standard_errors[k]);
        // The median and the middle 68 %: with two species a few fits find another minimum. Of 800
        // draws the width is known to 3.5 %, the median to 0.045; two species are not linear.
        std::sort(pulls.begin(), pulls.end());
        const auto at = [&](double part) {
          return pulls.at(static_cast<std::size_t>(part * static_cast<double>(pulls.size())));
        };
        const double slack = model == kTwoSpecies ? 2 : 1;
        EXPECT_NEAR((at(0.84) - at(0.16)) / 2, 1, 0.27 * slack)
            << fit::name_of(model) << " " << result.parameters[k].name;
        EXPECT_NEAR(at(0.5), 0, 0.36 * slack)
            << fit::name_of(model) << " " << result.parameters[k].name;
      }
      if (weighted) {
        EXPECT_NEAR(result.medians.at("reduced_chi2"), 1, 0.05);
      }
    }
}

// Lags that rise and fall together: the errors of single lags promise too much, those of segments
// are the scatter.
TEST(FitCurves, SegmentsKnowThatLagsGoTogether) {
  constexpr std::size_t kCurves = 1000, kSegments = 20;
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  auto c = exact(kPlain, kCurves, 0.02);
  c.segments = kSegments;
  c.segment_g.resize(kSegments * kCurves * c.lags);
  for (std::size_t s = 0; s < kCurves; ++s) {
    double mean = 0;
    for (std::size_t k = 0; k < kSegments; ++k) {
      const double height = 1 + 0.05 * std::sqrt(kSegments) * normal(random);
      mean += height / kSegments;
      for (std::size_t l = 0; l < c.lags; ++l)
        c.segment_g[(k * kCurves + s) * c.lags + l] =
            static_cast<float>(c.g[s * c.lags + l] * height);
    }
    for (std::size_t l = 0; l < c.lags; ++l) c.g[s * c.lags + l] *= mean;
  }
  const FitResult result = fit_curves(c, {});
  EXPECT_TRUE(result.from_segments);
  double pull2 = 0, scatter2 = 0;
  for (const CurveFit& one : result.fits) {
    const double d = one.solution.values[0] - 3.5;
    scatter2 += d * d / kCurves;
    pull2 += d * d / (one.solution.standard_errors[0] * one.solution.standard_errors[0]) / kCurves;
  }
  EXPECT_NEAR(std::sqrt(scatter2), 0.05 * 3.5, 0.03);  // sigma 0.004
  // Errors of 20 segments: squares of Student's t of 19 degrees of freedom. Sigma 0.055.
  EXPECT_NEAR(pull2, 19.0 / 17, 0.45);
}

// Lags near a segment's length, where the first segment has few pairs: its g scatters most, and the
// errors are those of the fitted parameter all the same. Equal weights would make their square 1.4 to
// 2.6 times too large.
TEST(FitCurves, SegmentsWeighByTheirPairs) {
  constexpr std::size_t kCurves = 4000, kSegments = 10;
  constexpr std::int64_t kPairs = 100'000;
  constexpr double kNoise = 5e-2;  // of g of one pair
  core::CorrelationCurves c;
  c.curves = kCurves;
  for (int n = 0; n < 5; ++n) c.lag_s.push_back(1e-4 * (1 + 0.03 * n));
  c.lags = c.lag_s.size();
  c.first.resize(kCurves);
  c.segments = kSegments;
  std::vector<double> all_pairs(c.lags);
  for (std::size_t k = 0; k < kSegments; ++k)
    for (std::size_t l = 0; l < c.lags; ++l) {
      // The last lags leave the first segment a twentieth of its windows.
      const std::int64_t left = kPairs * (15 - 10 * static_cast<std::int64_t>(l) / 4) / 100;
      c.segment_counts.push_back(k == 0 ? left : kPairs);
      all_pairs[l] += static_cast<double>(c.segment_counts.back());
    }
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  c.segment_g.resize(kSegments * kCurves * c.lags);
  for (std::size_t s = 0; s < kCurves; ++s)
    for (std::size_t l = 0; l < c.lags; ++l) {
      const double truth = fit::evaluate(kPlain, {{3.5, 2e-4, 5, 0}}, c.lag_s[l], {});
      double mean = 0;
      for (std::size_t k = 0; k < kSegments; ++k) {
        const auto pairs = static_cast<double>(c.segment_counts[k * c.lags + l]);
        const double g = truth + kNoise * normal(random) / std::sqrt(pairs);
        c.segment_g[(k * kCurves + s) * c.lags + l] = static_cast<float>(g);
        mean += g * pairs / all_pairs[l];
      }
      c.g.push_back(mean);
      c.standard_error.push_back(kNoise / std::sqrt(all_pairs[l]));
    }
  FitConfig config;
  config.fixed = {{"tau_d_s", 2e-4}};
  const FitResult result = fit_curves(c, config);
  ASSERT_TRUE(result.from_segments);
  ASSERT_EQ(result.good, kCurves);
  double stated2 = 0, scatter2 = 0;
  for (const CurveFit& one : result.fits) {
    const double d = one.solution.values[0] - 3.5;
    scatter2 += d * d;
    stated2 += one.solution.standard_errors[0] * one.solution.standard_errors[0];
  }
  // 4,000 squares of one degree of freedom over 4,000 of about nine: known to 2.4 %. Six times that
  // comes once in 1e8 runs.
  EXPECT_NEAR(stated2 / scatter2, 1, 0.145);
  c.segment_counts.clear();
  const FitResult equal = fit_curves(c, config);
  double equal2 = 0;
  for (const CurveFit& one : equal.fits)
    equal2 += one.solution.standard_errors[0] * one.solution.standard_errors[0];
  EXPECT_GT(equal2 / stated2, 1.2);
}

TEST(FitCurves, RangeFixedFreeBoundsAndD) {
  auto c = exact(kPlain, 1, 0.01);
  for (double& g : c.g) g += 0.003;
  FitConfig config;
  config.freed = {"offset", "kappa"};
  config.waist_um = 0.3;
  FitResult result = fit_curves(c, config);
  EXPECT_NEAR(result.fits[0].solution.values[3], 0.003, 1e-6);
  EXPECT_NEAR(result.fits[0].solution.values[2], 5, 1e-2);
  EXPECT_NEAR(result.fits[0].d_um2_per_s, 0.09 / (4 * 2e-4), 0.1);
  EXPECT_GT(result.fits[0].d_error, 0);
  config.freed = {};
  config.fixed["offset"] = 0.003;
  config.lowest_lag_s = 1e-6;
  config.highest_lag_s = 1e-2;
  result = fit_curves(c, config);
  EXPECT_NEAR(result.fits[0].solution.values[1], 2e-4, 1e-8);
  EXPECT_GE(result.lag_s.front(), 1e-6);
  EXPECT_LE(result.lag_s.back(), 1e-2);
  config.bounds["tau_d_s"] = {1e-6, 1e-4};
  result = fit_curves(c, config);
  EXPECT_NEAR(result.fits[0].solution.values[1], 1e-4, 1e-8);
  EXPECT_TRUE(std::isnan(result.fits[0].solution.standard_errors[1]));
  EXPECT_NE(result.fits[0].status.find("tau_d_s is at a bound"), std::string::npos);
}

// A fit converges on anything: what the lags do not tell is no result.
TEST(FitCurves, WhatTheLagsDoNotTellIsDoubtful) {
  const auto status = [](double low_s, double high_s, double relative_error) {
    auto c = exact(kPlain, 1, relative_error);
    if (relative_error > 0.1) c.standard_error.assign(c.lags, relative_error);
    FitConfig config;
    config.lowest_lag_s = low_s;
    config.highest_lag_s = high_s;
    const FitResult result = fit_curves(c, config);
    EXPECT_EQ(result.good + result.failed, 1u);
    EXPECT_EQ(std::isfinite(result.medians.at("tau_d_s")), result.good == 1);
    return result.fits[0].status;
  };
  // tau_D is 2e-4.
  EXPECT_EQ(status(0, 1, 1e-4), "ok");
  EXPECT_EQ(status(0, 1e-4, 1e-4), "ok");
  EXPECT_EQ(status(0, 1e-5, 1e-4), "tau_d_s is far beyond the fitted lags");
  EXPECT_EQ(status(3e-3, 1, 1e-4), "tau_d_s is far beyond the fitted lags");
  EXPECT_NE(status(0, 1, 20).find("n is not determined: its error is larger"), std::string::npos);
}

TEST(FitCurves, PairsAreNamedByBothSignals) {
  auto c = exact(kPlain, 2, 0.02);
  c.cross = true;
  c.second = {c.first[1], c.first[0]};
  const FitResult result = fit_curves(c, {});
  const std::string csv = fit_csv(result, c, "who");
  EXPECT_NE(csv.find("\n0,sensor 0 x sensor 1,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n1,sensor 1 x sensor 0,"), std::string::npos) << csv;
  const auto message = nlohmann::json::parse(report::fit_message(result, c, {}));
  EXPECT_EQ(message["labels"][1], "sensor 1 x sensor 0");
}

// Nothing says whether the model describes a curve without standard errors: right or wrong, its fit is not ok.
TEST(FitCurves, WithoutStandardErrorsNoFitIsOk) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> slower(1e-3, 1e-2);
  auto right = exact(kPlain, 3, 0.02);
  auto wrong = exact(kPlain, 3, 0.02);
  for (std::size_t k = 0; k < wrong.curves; ++k) {
    const double time_s = slower(random);
    for (std::size_t l = 0; l < wrong.lags; ++l)
      wrong.g[k * wrong.lags + l] +=
          fit::evaluate(kPlain, {{3.5, time_s, 5, 0}}, wrong.lag_s[l], {});
  }
  wrong.mask = {1, 1, 0};
  for (auto* curves : {&right, &wrong})
    for (const bool has_errors : {true, false}) {
      auto c = *curves;
      if (!has_errors) c.standard_error.clear();
      FitConfig config;
      config.weighted = !has_errors;
      const FitResult result = fit_curves(c, config);
      EXPECT_EQ(result.good, 0u);
      EXPECT_EQ(result.unjudged, c.mask.empty() ? 3u : 2u);
      EXPECT_EQ(result.failed, 0u);
      EXPECT_EQ(result.fits[0].status, "not judged: fitted without standard errors");
      EXPECT_TRUE(std::isfinite(result.medians.at("n")));
      EXPECT_TRUE(std::isnan(result.medians.at("reduced_chi2")));
      const std::string csv = fit_csv(result, c, "who");
      EXPECT_NE(csv.find(fmt::format("# 0 good, {} not judged, ", result.unjudged)),
                std::string::npos)
          << csv;
      EXPECT_NE(csv.find(",not judged: fitted without standard errors,"), std::string::npos) << csv;
      const auto page = nlohmann::json::parse(report::fit_message(result, c, config));
      EXPECT_EQ(page["good"], 0);
      EXPECT_EQ(page["unjudged"], result.unjudged);
      EXPECT_EQ(page["statuses"][0], result.fits[0].status);
    }
  EXPECT_EQ(fit_curves(right, {}).good, 3u);
  EXPECT_EQ(fit_curves(wrong, {}).good, 0u);
}

// The page counts the lags that have points, and judges by errors only where there are some.
TEST(FitPage, LagsThatWereFittedAndNoChiWithoutWeights) {
  auto c = exact(kPlain, 2, 0.02);
  const std::size_t last = c.lags - 20;
  for (std::size_t l = last; l < c.lags; ++l)
    for (std::size_t k = 0; k < 2; ++k)
      c.standard_error[k * c.lags + l] = std::numeric_limits<double>::quiet_NaN();
  FitConfig config;
  const auto page = [&] {
    const FitResult result = fit_curves(c, config);
    return nlohmann::json::parse(report::fit_message(result, c, config));
  };
  const auto weighted = page();
  const std::string lags = weighted["facts"]["Lags fitted"];
  EXPECT_NE(lags.find(std::to_string(last) + " lags"), std::string::npos) << lags;
  EXPECT_NE(lags.find("\u00b5s to "), std::string::npos) << lags;
  EXPECT_NE(weighted["columns"].dump().find("reduced_chi2"), std::string::npos);
  config.weighted = false;
  const auto unweighted = page();
  const std::string all = unweighted["facts"]["Lags fitted"];
  EXPECT_NE(all.find(std::to_string(c.lags) + " lags"), std::string::npos) << all;
  EXPECT_EQ(unweighted["columns"].dump().find("reduced_chi2"), std::string::npos);
  EXPECT_TRUE(unweighted["medians"]["reduced_chi2"].is_null());
}

TEST(FitCurves, HotMaskedAndBrokenSensors) {
  auto c = exact(kPlain, 24, 0.02);
  add_noise(c);
  c.mask.assign(24, 1);
  c.mask[3] = 0;
  c.first[5].mean_rate_hz = 1e6;
  for (std::size_t l = 0; l < c.lags; ++l) c.g[7 * c.lags + l] = std::nan("");
  for (std::size_t l = 0; l < c.lags; l += 2) c.g[8 * c.lags + l] = std::nan("");
  const FitResult result = fit_curves(c, {});
  EXPECT_EQ(result.fits[3].status, "masked");
  EXPECT_EQ(result.fits[5].status, "hot");
  EXPECT_NE(result.fits[7].status.find("only 0 points"), std::string::npos);
  // Where the search started is no result.
  EXPECT_TRUE(std::isnan(result.fits[7].solution.values[0]));
  EXPECT_TRUE(std::isnan(result.fits[7].g0));
  EXPECT_TRUE(std::isnan(result.fits[7].solution.chi_squared));
  EXPECT_EQ(result.fits[8].status, "ok");
  EXPECT_EQ(result.good, 21u);
  EXPECT_EQ(result.hot + result.masked + result.failed, 3u);
  EXPECT_NEAR(result.medians.at("n"), 3.5, 0.1);
  const std::string csv = fit_csv(result, c, "who");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 29);
  EXPECT_NE(csv.find("\n3,sensor 3,0,3,masked,nan,"), std::string::npos);
}

// Maps: 0 is coloured, 1 and 2 are grey, 3 is hatched.
TEST(FitPage, MarksWhatIsHotMaskedAndDoubtful) {
  auto c = exact(kPlain, 12, 0.02);
  add_noise(c);
  c.mask.assign(12, 1);
  c.mask[3] = 0;
  c.first[5].mean_rate_hz = 1e6;
  // Hot, and noise alone: hot all the same.
  c.first[6].mean_rate_hz = 2e6;
  for (std::size_t l = 0; l < c.lags; ++l) {
    c.g[6 * c.lags + l] = std::nan("");
    c.g[7 * c.lags + l] = std::nan("");
    c.g[8 * c.lags + l] *= 1e-3;  // far more particles than the bound allows for
  }
  FitConfig config;
  config.bounds["n"] = {0.1, 100};
  const FitResult result = fit_curves(c, config);
  EXPECT_EQ(result.hot, 2u);
  EXPECT_EQ(result.fits[6].status, "hot");
  EXPECT_NE(result.fits[8].status.find("n is at a bound"), std::string::npos)
      << result.fits[8].status;
  EXPECT_EQ(result.failed, 2u);
  const auto message = nlohmann::json::parse(report::fit_message(result, c, config));
  const std::vector<std::uint8_t> expected{0, 0, 0, 1, 0, 2, 2, 3, 3, 0, 0, 0};
  EXPECT_EQ(message["status"], report::base64(expected));
  EXPECT_EQ(message["good"], 7);
  EXPECT_EQ(message["shape"]["rows"], 2);
  EXPECT_EQ(message["shape"]["columns"], 8);
}

TEST(FitCurves, RefusalsNameTheParameter) {
  const auto c = exact(kPlain, 1, 0.01);
  const auto refused = [&](auto change) {
    FitConfig config;
    change(config);
    EXPECT_THROW(fit_curves(c, config), core::Error);
  };
  refused([](FitConfig& f) { f.fixed["tau"] = 1; });
  refused([](FitConfig& f) { f.freed = {"blur"}; });
  refused([](FitConfig& f) { f.bounds["n"] = {2, 1}; });
  refused([](FitConfig& f) { f.bounds["n"] = {0, 1}; });  // searched by its logarithm
  refused([](FitConfig& f) { f.starts["n"] = -1; });
  refused([](FitConfig& f) { f.lowest_lag_s = 1, f.highest_lag_s = 0.5; });
  EXPECT_THROW(fit_curves({}, {}), core::Error);
  EXPECT_THROW(fit::parse_model("4d"), core::Error);
}

TEST(FitFile, CsvInCsvAndPageOut) {
  const tests::ScratchFolder folder;
  auto c = exact(kTriplet, 1, 0.02);
  add_noise(c);
  c.first[0].label = "</script><b>x";
  formats::curves::write_csv(folder / "g.csv", c.curve(0), {"", {}}, false);
  FitConfig config;
  config.model = kTriplet;
  config.input = folder / "g.csv";
  config.output = folder / "f.csv";
  config.report = folder / "f.html";
  const FitResult result = fit_file(config);
  EXPECT_EQ(result.good, 1u);
  EXPECT_NEAR(result.fits[0].solution.values[0], 3.5, 0.3);
  std::ifstream file(folder / "f.html", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find("tautline.fit.page"), std::string::npos);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org"));  // nothing is fetched
  EXPECT_THROW(fit_file(config), core::Error);                      // they exist
}

}  // namespace
}  // namespace tautline::pipeline
