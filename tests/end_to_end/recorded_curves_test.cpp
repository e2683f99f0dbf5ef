// Curves of other correlators and programs, as they were recorded, through `fit`: beside the parameters that PyCorrFit
// found, and beside sums of squares over the file's own lines, which are read here apart from the readers under test.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

const std::filesystem::path kCurvesFolder = std::filesystem::path(TAUTLINE_DATA_DIR) / "fcs";
constexpr double kCurvesKappa = 5;

struct CurvePoint {
  double lag_s = 0, g = 0;
};

using Fitted = std::map<std::string, double>;

double focus(const Fitted& p, double lag_s) {
  const double x = lag_s / p.at("tau_d_s");
  return p.at("offset") +
         1 / p.at("n") / (1 + x) / std::sqrt(1 + x / (kCurvesKappa * kCurvesKappa));
}

double squares(const Fitted& p, const std::vector<CurvePoint>& points) {
  double sum = 0;
  for (const CurvePoint& one : points) sum += std::pow(one.g - focus(p, one.lag_s), 2);
  return sum;
}

class RecordedCurves : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_FIT
    GTEST_SKIP() << "a build without cminpack fits nothing";
#endif
    if (!std::filesystem::exists(kCurvesFolder))
      GTEST_SKIP() << "the recorded curves are absent (" << kCurvesFolder << ")";
  }
  CommandResult fit(const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"fit", (kCurvesFolder / name).string(), "-o", scratch_ / "fit.csv",
                               "--overwrite"});
    return run_command(more, scratch_.path().string());
  }
  // The numbers of each curve; the texts among them, label and status, are left out.
  std::vector<Fitted> rows() const {
    std::istringstream lines(read_file(scratch_ / "fit.csv"));
    std::vector<std::string> names;
    std::vector<Fitted> found;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#")) continue;
      std::vector<std::string> fields(1);
      bool quoted = false;
      for (const char c : line) {
        if (c == '"') quoted = !quoted;
        if (c == ',' && !quoted)
          fields.emplace_back();
        else
          fields.back() += c;
      }
      if (names.empty()) {
        names = fields;
        continue;
      }
      EXPECT_EQ(fields.size(), names.size()) << line;
      Fitted row;
      for (std::size_t k = 0; k < names.size() && k < fields.size(); ++k)
        if (names[k] != "label" && names[k] != "status") row[names[k]] = std::stod(fields[k]);
      found.push_back(row);
    }
    return found;
  }
  // Lines of numbers behind a title, of which `column` is g with `base` at long lags.
  static std::vector<CurvePoint> points(const std::string& name, const std::string& title,
                                        double lag_unit_s, int column, double base, double low_s,
                                        double high_s) {
    std::istringstream lines(read_file((kCurvesFolder / name).string()));
    std::vector<CurvePoint> found;
    bool here = false;
    for (std::string line; std::getline(lines, line);) {
      double lag = 0, value[2] = {};
      const int count = std::sscanf(line.c_str(), "%lf %lf %lf", &lag, &value[0], &value[1]);
      if (line.starts_with(title)) {
        here = true;
      } else if (here && count >= 1 + column) {
        if (lag * lag_unit_s >= low_s && lag * lag_unit_s <= high_s)
          found.push_back({lag * lag_unit_s, value[column - 1] - base});
      } else if (here && !found.empty()) {
        break;
      }
    }
    return found;
  }
  // No other values of the free parameters come as close to the points, which the model describes.
  static void expect_least_squares(const Fitted& p, const std::vector<CurvePoint>& points,
                                   const std::vector<std::string>& free) {
    ASSERT_GT(points.size(), 20u);
    const double least = squares(p, points);
    EXPECT_LT(std::sqrt(least / static_cast<double>(points.size())), 0.05 / p.at("n"));
    for (const std::string& name : free)
      for (const double factor : {0.98, 1.02}) {
        Fitted other = p;
        other[name] *= factor;
        EXPECT_GT(squares(other, points), least) << name << " x " << factor;
      }
  }
  ScratchFolder scratch_;
};

TEST_F(RecordedCurves, AnAlvsCurveHasItsLeastSquares) {
  const CommandResult result = fit("ALV-7004.ASC", {"--model", "3d", "--range", "10.1us:0.3",
                                                    "--free", "offset", "--unweighted"});
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.out.find("not judged: fitted without standard errors"), std::string::npos)
      << result.out;
  const auto found = rows();
  ASSERT_EQ(found.size(), 1u);
  const auto recorded = points("ALV-7004.ASC", "\"Correlation\"", 1e-3, 1, 0, 10.1e-6, 0.3);
  expect_least_squares(found[0], recorded, {"n", "tau_d_s", "offset"});
  EXPECT_NEAR(found[0].at("rate_hz"), 60776.29, 0.02 * 60776.29);  // of the trace: the header's
  // Half of the height is left at 3.6 ms.
  EXPECT_NEAR(found[0].at("tau_d_s"), 3.5e-3, 1e-3);
  EXPECT_NEAR(1 / found[0].at("n") + found[0].at("offset"), 0.386, 0.02);
}

// Inputs 2 and 3, each before the other; the other two pairs saw next to no light.
TEST_F(RecordedCurves, ThoseOfCorrelatorComHaveTheirLeastSquares) {
  const std::string name = "Correlator.com_Integer-Mode.SIN";
  const CommandResult result = fit(name, {"--model", "3d", "--range", "5.1us:0.1", "--unweighted"});
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto found = rows();
  ASSERT_EQ(found.size(), 4u);
  for (const int column : {1, 2}) {
    const auto recorded = points(name, "[CorrelationFunction]", 1, column, 1, 5.1e-6, 0.1);
    const Fitted& p = found[static_cast<std::size_t>(column - 1)];
    expect_least_squares(p, recorded, {"n", "tau_d_s"});
    EXPECT_GT(p.at("tau_d_s"), 2e-5) << column;
    EXPECT_LT(p.at("tau_d_s"), 2e-4) << column;
    EXPECT_NEAR(1 / p.at("n"), 0.27, 0.08) << column;
  }
  // The same light.
  EXPECT_NEAR(found[0].at("tau_d_s") / found[1].at("tau_d_s"), 1, 0.2);
  EXPECT_NEAR(found[0].at("n") / found[1].at("n"), 1, 0.1);
  // Fits that nothing judges are not called good.
  EXPECT_EQ(fit(name, {"--model", "3d", "--range", "5.1us:0.1"}).status, kDamaged);
}

// The file says what PyCorrFit fitted to it, with which weights, and its errors.
TEST_F(RecordedCurves, OnesOfPyCorrFitHasTheParametersThatItFound) {
  const std::string name = "PyCorrFit_CC_A488_withVariance.csv";
  const CommandResult result = fit(name, {"--model", "3d+triplet", "--fix", "tau_t_s=2us"});
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.out.find("; ok"), std::string::npos) << result.out;
  const auto found = rows();
  ASSERT_EQ(found.size(), 1u);
  const std::string text = read_file((kCurvesFolder / name).string());
  const auto said = [&](const std::string& parameter) {
    const std::size_t at = text.find("#   " + parameter + "\t");
    EXPECT_NE(at, std::string::npos) << parameter;
    return std::stod(text.substr(at + 5 + parameter.size()));
  };
  EXPECT_NEAR(found[0].at("n"), said("n"), 0.003 * said("n"));
  EXPECT_NEAR(found[0].at("triplet"), said("T"), 0.003);
  EXPECT_NEAR(found[0].at("tau_d_s"), 1e-3 * said("τ_diff [ms]"), 0.003e-3 * said("τ_diff [ms]"));
  EXPECT_NEAR(found[0].at("reduced_chi2"), said("χ²"), 0.05 * said("χ²"));
  EXPECT_NEAR(found[0].at("kappa"), said("SP"), 1e-9);
}

}  // namespace
}  // namespace tautline::tests
