// Fits of exact curves, of what the user fixes, frees and bounds, and of sensors that are hot, masked or broken.
#include "tautline/pipeline/photons/fit_curves.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tautline/core/error.h"
#include "tautline/pipeline/photons/fit_page.h"
#include "tests/pipeline/photons/fit_examples.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using namespace tests;

TEST(FitCurves, ExactCurvesGiveTheirParameters) {
  for (const Model& model : kModels) {
    FitConfig config;
    config.model = model;
    if (model == kPixel) config.fixed["blur"] = 0.8;
    const FitResult result =
        fit_curves(exact(model, 2, fit::is_scattering(model) ? 0.0005 : 0.02), config);
    for (const CurveFit& one : result.fits) {
      EXPECT_EQ(one.status, "ok") << fit::name_of(model);
      for (std::size_t k = 0; k < one.solution.values.size(); ++k)
        EXPECT_NEAR(one.solution.values[k], true_values(model)[k], 1e-4 * true_values(model)[k])
            << fit::name_of(model) << " " << result.parameters[k].name;
      EXPECT_LT(one.solution.chi_squared, 1e-4);
    }
  }
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
  EXPECT_EQ(fit::without_error("tau_d_s", result.fits[0].solution.standard_errors[1],
                               result.fits[0].status),
            "at its bound");
}

TEST(FitCurves, WhyAParameterHasNoError) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::string trouble = "tau is not determined; fraction is at a bound";
  EXPECT_EQ(fit::without_error("kappa", 0, trouble), "held");
  EXPECT_EQ(fit::without_error("fraction", kNone, trouble), "at its bound");
  EXPECT_EQ(fit::without_error("tau", kNone, trouble), "not determined");
  EXPECT_EQ(fit::without_error("n", kNone, trouble), "not determined");
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

// However many curves there are, and however far apart their times are.
TEST(FitCurves, MediansOfDAndOfTheTimeAreOfOneCurve) {
  std::vector<std::vector<double>> all;
  FitConfig config;
  config.waist_um = 0.3;
  for (const double tau_d_s : {1e-3, 5e-5, 2e-4, 8e-4}) {
    all.push_back(true_values(kPlain));
    all.back()[1] = tau_d_s;
    const FitResult result = fit_curves(exact(kPlain, all, 0.01), config);
    EXPECT_EQ(result.good, all.size());
    const double d = 0.09 / (4 * result.medians.at("tau_d_s"));
    EXPECT_NEAR(result.medians.at("d_um2_per_s"), d, 1e-9 * d) << all.size();
    // Of an even number it is the mean of the two in the middle.
    std::vector<double> times;
    for (const CurveFit& one : result.fits) times.push_back(one.solution.values[1]);
    std::sort(times.begin(), times.end());
    const double middle = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
    EXPECT_DOUBLE_EQ(result.medians.at("tau_d_s"), middle);
  }
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
  try {
    FitConfig config;
    config.bounds["n"] = {-5, 2};
    fit_curves(c, config);
    ADD_FAILURE() << "expected an error";
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find("bounds: n=-5, expected a lower bound above 0"),
              std::string::npos)
        << error.what();
  }
  refused([](FitConfig& f) { f.starts["n"] = -1; });
  refused([](FitConfig& f) { f.lowest_lag_s = 1, f.highest_lag_s = 0.5; });
  EXPECT_THROW(fit_curves({}, {}), core::Error);
  EXPECT_THROW(fit::parse_model("4d"), core::Error);
}

// Two species that one does not describe; with one species, and with both, nothing is missing.
TEST(FitCurves, ASecondComponentThatIsMissingIsNamed) {
  auto random = tests::generator();
  auto two = tests::exact(fit::parse_model("2x3d"),
                          std::vector<std::vector<double>>(3, {3.5, 2e-4, 1e-2, 0.5, 5, 0}), 0.01);
  auto one = tests::exact(tests::kPlain, 3, 0.01);
  tests::add_noise(two, random);
  tests::add_noise(one, random);
  const auto said = [](const core::CorrelationCurves& curves, const char* model) {
    FitConfig config;
    config.model = fit::parse_model(model);
    std::string text;
    for (const std::string& warning : fit_curves(curves, config).warnings)
      if (warning.starts_with("a second component may be missing")) text += warning;
    return text;
  };
  EXPECT_EQ(said(two, "3d"),
            "a second component may be missing: 2x3d describes 3 of 3 curves, 3d does not; try "
            "`model` 2x3d");
  EXPECT_EQ(said(two, "2x3d"), "");
  EXPECT_EQ(said(one, "3d"), "");
}

// Of curves without a trace it is said that their rates were not looked at.
TEST(FitCurves, WithoutRatesAreOkByTheirPointsAlone) {
  auto curves = tests::exact(tests::kPlain, 1, 0.02);
  FitResult result = fit_curves(curves, {});
  ASSERT_EQ(result.good, 1u);
  result.warnings.clear();
  name_changes_of_rates(curves, {"g.csv"}, std::vector<formats::curves::CurvesFacts>(1), result);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_TRUE(result.warnings[0].starts_with("the curve is ok by its points alone"))
      << result.warnings[0];
}

}  // namespace
}  // namespace tautline::pipeline
