// What a good fit hides: an optional part that the curve does not need, and a part of the run that is unlike the rest.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit_curves.h"
#include "tests/pipeline/photons/fit_examples.h"

namespace tautline::pipeline {
namespace {

FitResult fitted(const core::CorrelationCurves& curves, const fit::Model& model) {
  FitConfig config;
  config.model = model;
  return fit_curves(curves, config);
}

// Curves of a run whose segments scatter about the model: all lags together, and each by itself. In the last segment of
// each curve there is a bright particle of this height and time, too.
core::CorrelationCurves of_segments(std::size_t curves, double height, double tau_s,
                                    std::mt19937_64& random) {
  constexpr std::size_t kSegments = 10;
  constexpr double kTogether = 0.05, kEach = 0.05;
  core::CorrelationCurves c = tests::exact(tests::kPlain, curves, 0);
  c.bin_s = 2e-7, c.duration_s = 10;
  c.segments = kSegments, c.segment_samples = 5'000'000;
  const std::vector<double> truth = c.g;
  const std::vector<double> particle{1 / height, tau_s, 5, 0};
  std::normal_distribution<double> normal;
  for (std::size_t k = 0; k < kSegments; ++k)
    for (std::size_t p = 0; p < curves; ++p) {
      const double together = 1 + kTogether * normal(random);
      for (std::size_t l = 0; l < c.lags; ++l) {
        const double g = truth[p * c.lags + l];
        const double more = k + 1 == kSegments && height > 0
                                ? fit::evaluate(tests::kPlain, particle, c.lag_s[l], {})
                                : 0;
        c.segment_g.push_back(
            static_cast<float>(g * together + kEach * (0.05 + g) * normal(random) + more));
      }
    }
  for (std::size_t i = 0; i < truth.size(); ++i) {
    double mean = 0, squares = 0;
    const auto of = [&](std::size_t k) { return c.segment_g[k * truth.size() + i]; };
    for (std::size_t k = 0; k < kSegments; ++k) mean += of(k) / kSegments;
    for (std::size_t k = 0; k < kSegments; ++k) squares += std::pow(of(k) - mean, 2);
    c.g[i] = mean;
    c.standard_error[i] = std::sqrt(squares / (kSegments * (kSegments - 1)));
  }
  return c;
}

}  // namespace

TEST(FitParts, ThatACurveDoesNotNeedAreNamed) {
  constexpr std::size_t kCurves = 100;
  auto curves = tests::exact(tests::kPlain, kCurves, 0.03);
  tests::add_noise(curves);
  for (const fit::Model& model : {fit::Model{fit::Shape::diffusion_3d, true, false},
                                  fit::Model{fit::Shape::diffusion_3d, false, true},
                                  fit::Model{fit::Shape::two_species_3d, false, false}}) {
    SCOPED_TRACE(fit::name_of(model));
    const FitResult result = fitted(curves, model);
    // Chance makes a part of one curve in some 1,000 look needed: more than 4 of 100, once in ten million.
    EXPECT_LE(result.good, 4u);
    std::size_t named = 0;
    for (const CurveFit& one : result.fits)
      named += one.status.find("the curve does not need ") != std::string::npos ? 1 : 0;
    EXPECT_GE(named, kCurves / 2);  // others end at a bound, or are not determined
    ASSERT_FALSE(result.warnings.empty());
    EXPECT_NE(result.warnings.back().find("try `model` 3d"), std::string::npos)
        << result.warnings.back();
  }
}

TEST(FitParts, ThatACurveNeedsAreOk) {
  constexpr std::size_t kCurves = 100;
  for (const fit::Model& model :
       {tests::kTriplet, fit::Model{fit::Shape::diffusion_3d, false, true},
        fit::Model{fit::Shape::two_species_3d, false, false}}) {
    SCOPED_TRACE(fit::name_of(model));
    auto curves = tests::exact(model, kCurves, 0.03);
    tests::add_noise(curves);
    EXPECT_GE(fitted(curves, model).good, kCurves - 5);
  }
}

// Of light scattered by particles of one size, and of several; chance as above.
TEST(FitParts, CumulantsThatACurveDoesNotNeedAreNamed) {
  constexpr std::size_t kCurves = 100;
  struct Case {
    fit::Shape shape;
    std::vector<double> values;  // of cumulants_3
    std::string part;            // that is not needed; empty: all are
  };
  for (const auto& [shape, values, part] :
       {Case{fit::Shape::cumulants_2, {0.4, 2000, 0, 0, 0}, "a second cumulant"},
        {fit::Shape::cumulants_2, {0.4, 2000, 0.2, 0, 0}, ""},
        {fit::Shape::cumulants_3, {0.4, 2000, 0.2, 0, 0}, "a third cumulant"},
        {fit::Shape::cumulants_3, {0.4, 2000, 0.3, 0.5, 0}, ""}}) {
    const fit::Model model{shape, false, false};
    SCOPED_TRACE(fit::name_of(model) + " " + part);
    auto curves =
        tests::exact({fit::Shape::cumulants_3, false, false}, std::vector(kCurves, values), 0.003);
    tests::add_noise(curves);
    const FitResult result = fitted(curves, model);
    if (part.empty()) {
      EXPECT_GE(result.good, kCurves - 5);
      continue;
    }
    EXPECT_LE(result.good, 8u);  // chance makes some 1 of 200 look needed
    std::size_t named = 0;
    for (const CurveFit& one : result.fits)
      named += one.status.find("the curve does not need " + part) != std::string::npos ? 1 : 0;
    EXPECT_GE(named, kCurves - 10);
    const fit::Model less{
        shape == fit::Shape::cumulants_2 ? fit::Shape::cumulants_1 : fit::Shape::cumulants_2, false,
        false};
    EXPECT_NE(result.warnings.back().find("try `model` " + fit::name_of(less)), std::string::npos)
        << result.warnings.back();
  }
}

// What the user holds, or shares, is not questioned.
TEST(FitParts, OfAKnownAmplitudeAreOk) {
  auto curves = tests::exact(tests::kPlain, 1, 0.03);
  tests::add_noise(curves);
  FitConfig config;
  config.model = tests::kTriplet;
  config.fixed = {{"triplet", 0.001}, {"tau_t_s", 3e-6}};
  EXPECT_EQ(fit_curves(curves, config).fits[0].status, "ok");
}

// Exact curves: the model is the right one, but a dark time there is not what it is called.
TEST(FitParts, DarkTimesNearOtherTimesAreNamed) {
  const auto status = [](double dark_s) {
    return fitted(tests::exact(tests::kTriplet, {{3.5, 2e-4, 0.4, dark_s, 5, 0}}, 0.002),
                  tests::kTriplet)
        .fits[0]
        .status;
  };
  EXPECT_EQ(status(3e-6), "ok");
  EXPECT_EQ(status(3e-5), "ok");
  EXPECT_NE(status(6e-5).find("the dark time is no fifth of that of the fall"), std::string::npos)
      << status(6e-5);
  EXPECT_NE(status(1.5e-7).find("the dark time is shorter than the first lag"), std::string::npos)
      << status(1.5e-7);
}

TEST(UnlikeSegments, WithABrightParticleAreNamed) {
  auto random = tests::generator();
  constexpr std::size_t kCurves = 40;
  const FitResult result = fitted(of_segments(kCurves, 1, 5e-3, random), tests::kPlain);
  std::size_t named = 0;
  for (const CurveFit& one : result.fits) {
    EXPECT_NE(one.status, "ok");
    named += one.unlike_part.starts_with(
                 "the curve of 9 to 10 s is unlike the rest of the run, which moves ") &&
                     one.unlike_part.find("tau_d_s by ") != std::string::npos
                 ? 1
                 : 0;
  }
  EXPECT_EQ(named, kCurves);
}

TEST(UnlikeSegments, AreNotSeenInNoise) {
  auto random = tests::generator();
  constexpr std::size_t kCurves = 500;
  const FitResult result = fitted(of_segments(kCurves, 0, 1, random), tests::kPlain);
  std::size_t named = 0;
  for (const CurveFit& one : result.fits) named += one.unlike_part.empty() ? 0 : 1;
  EXPECT_LE(named, 1u);
}

}  // namespace tautline::pipeline
