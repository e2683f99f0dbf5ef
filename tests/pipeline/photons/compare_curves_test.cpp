// One curve beside another: known differences, errors of one or both, what other correlators write.
#include "tautline/pipeline/photons/compare_curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

double model(double lag_s) {
  return 0.8 / (1 + lag_s / 1e-4);
}

core::CorrelationCurve curve(double shortest_s, std::size_t lags, double height, double error) {
  core::CorrelationCurve c;
  for (std::size_t l = 0; l < lags; ++l) {
    c.lag_s.push_back(shortest_s * std::pow(1.05, static_cast<double>(l)));
    c.g.push_back(height * model(c.lag_s.back()));
    if (error > 0) c.standard_error.push_back(error);
  }
  return c;
}

TEST(CompareCurves, HeightsAndLagsInBetween) {
  const auto first = curve(1e-6, 200, 1, 0);
  const auto second = curve(1.7e-6, 150, 0.5, 0);
  const CurveComparison c = compare_curves(first, second);
  // The lags of the first curve within the range of the second's.
  const double last = second.lag_s.back();
  for (const ComparedLag& one : c.lags) {
    EXPECT_GE(one.lag_s, 1.7e-6);
    EXPECT_LE(one.lag_s, last);
    EXPECT_DOUBLE_EQ(one.first, model(one.lag_s));
    // Interpolated over a twentieth: the curvature of the model by ln(lag) is at most a tenth of it.
    EXPECT_NEAR(one.second, 0.5 * model(one.lag_s), 2e-4);
  }
  EXPECT_EQ(c.lags.size(), 149u);
  EXPECT_NEAR(c.height_ratio, 2, 1e-3);
  EXPECT_TRUE(std::isnan(c.rms_sigmas));
  EXPECT_TRUE(c.agrees);
}

TEST(CompareCurves, PairsAreNamedByBothSignals) {
  auto first = curve(1e-6, 200, 1, 0), second = first;
  first.cross = second.cross = true;
  first.first.label = second.second.label = "detector 0";
  first.second.label = second.first.label = "detector 1";
  const CurveComparison c = compare_curves(first, second);
  EXPECT_EQ(c.first, "detector 0 x detector 1");
  EXPECT_EQ(c.second, "detector 1 x detector 0");
}

TEST(CompareCurves, ErrorsOfOneOrBoth) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  constexpr std::size_t kLags = 4000;
  for (const auto& [own, other] :
       {std::pair{0.01, 0.02}, std::pair{0.01, 0.0}, std::pair{0.0, 0.02}}) {
    core::CorrelationCurve first, second;
    for (std::size_t l = 0; l < kLags; ++l) {
      const double lag_s = 1e-6 * static_cast<double>(l + 1);
      first.lag_s.push_back(lag_s);
      first.g.push_back(model(lag_s) + own * normal(random));
      second.g.push_back(model(lag_s) + other * normal(random));
    }
    second.lag_s = first.lag_s;
    if (own > 0) first.standard_error.assign(kLags, own);
    if (other > 0) second.standard_error.assign(kLags, other);
    const CurveComparison c = compare_curves(first, second);
    // The root of a mean of 4,000 squares is known to 1.1 %: six times that.
    EXPECT_NEAR(c.rms_sigmas, 1, 0.07) << own << " and " << other;
    EXPECT_TRUE(c.agrees);
    for (double& g : second.g) g *= 1.5;
    const CurveComparison higher = compare_curves(first, second);
    EXPECT_FALSE(higher.agrees);
    // Noise of the second curve pulls it down by 2.5 %.
    EXPECT_NEAR(higher.height_ratio, 1 / 1.5, 0.04);
    EXPECT_LT(higher.scaled_rms_sigmas, 1.2);
  }
}

TEST(CompareCurves, WithoutLagsInCommonOrOfSumsAreRefused) {
  EXPECT_THROW(compare_curves(curve(1e-6, 20, 1, 0), curve(1, 20, 1, 0)), core::Error);
  EXPECT_THROW(compare_curves(curve(1e-6, 20, 1, 0), {}), core::Error);
  const tests::ScratchFolder folder;
  formats::curves::write_csv(folder / "a.csv", curve(1e-6, 20, 1, 0.1), {}, false);
  core::CorrelationCurve sums = curve(1e-6, 20, 1, 0.1);
  sums.normalization = core::Normalization::none;
  formats::curves::write_csv(folder / "sums.csv", sums, {}, false);
  EXPECT_NO_THROW(compare_curve_files(folder / "a.csv", 0, folder / "a.csv", 0));
  EXPECT_THROW(compare_curve_files(folder / "a.csv", 1, folder / "a.csv", 0), core::Error);
  EXPECT_THROW(compare_curve_files(folder / "a.csv", 0, folder / "sums.csv", 0), core::Error);
}

// Real correlators' files with themselves, and their second curve with the first.
TEST(CompareCurves, FilesOfOtherCorrelators) {
  const std::string folder = std::string(TAUTLINE_DATA_DIR) + "/fcs/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs " << folder;
  for (const char* name :
       {"ALV-7004.ASC", "Correlator.com_Integer-Mode.SIN", "PyCorrFit_CC_A488_withVariance.csv"}) {
    const CurveComparison c = compare_curve_files(folder + name, 0, folder + name, 0);
    EXPECT_GT(c.lags.size(), 50u) << name;
    EXPECT_EQ(c.rms_difference, 0) << name;
    EXPECT_NEAR(c.height_ratio, 1, 1e-12) << name;
  }
}

}  // namespace
}  // namespace tautline::pipeline
