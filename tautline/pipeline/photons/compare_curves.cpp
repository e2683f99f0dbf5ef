#include "tautline/pipeline/photons/compare_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/counted.h"
#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Errors from ten segments are themselves uncertain by a quarter, and neighbouring lags are correlated.
constexpr double kMostSigmas = 2;

/// A point that can be compared, with an error of NaN where it is unknown.
struct Point {
  double lag_s = 0, g = 0, error = 0;
};

std::vector<Point> points_of(const core::CorrelationCurve& curve) {
  std::vector<Point> points;
  for (std::size_t l = 0; l < curve.lag_s.size(); ++l) {
    if (!(curve.lag_s[l] > 0) || !std::isfinite(curve.g[l])) continue;
    const double error = l < curve.standard_error.size() ? curve.standard_error[l] : std::nan("");
    points.push_back({curve.lag_s[l], curve.g[l], error > 0 ? error : std::nan("")});
  }
  return points;
}

// Interpolates between two neighbours, by the logarithm of the lag; `at` lies within the points' lags.
Point interpolated(const std::vector<Point>& points, double at) {
  const auto after = std::lower_bound(points.begin(), points.end(), at,
                                      [](const Point& p, double lag) { return p.lag_s < lag; });
  if (after->lag_s == at) return *after;
  const Point &low = *(after - 1), &high = *after;
  const double part = std::log(at / low.lag_s) / std::log(high.lag_s / low.lag_s);
  return {at, low.g + part * (high.g - low.g), low.error + part * (high.error - low.error)};
}

// Over the lags whose error is known, with the second curve times `factor`.
double rms_sigmas(const std::vector<ComparedLag>& lags, double factor) {
  double sum = 0, known = 0;
  for (const ComparedLag& one : lags) {
    if (std::isnan(one.error)) continue;
    const double sigmas = (one.first - factor * one.second) / one.error;
    sum += sigmas * sigmas;
    ++known;
  }
  return known > 0 ? std::sqrt(sum / known) : std::nan("");
}

core::CorrelationCurve curve_of(const std::string& path, const char* field, std::size_t index) {
  const core::CorrelationCurves set = formats::curves::read_set(path);
  if (index >= set.curves)
    throw Error(ErrorKind::config, field, std::to_string(index),
                set.curves == 1 ? "0, the only curve of " + path
                                : fmt::format("0 to {}, the curves of {}", set.curves - 1, path));
  if (set.normalization == core::Normalization::none)
    throw Error(ErrorKind::config, path + ": normalization", "none: g holds sums",
                "symmetric or global", "correlate again with symmetric normalization");
  return set.curve(index);
}

}  // namespace

CurveComparison compare_curves(const core::CorrelationCurve& first,
                               const core::CorrelationCurve& second) {
  const std::vector<Point> ours = points_of(first), theirs = points_of(second);
  CurveComparison c;
  c.first = core::label_of(first);
  c.second = core::label_of(second);
  double difference2 = 0, cross = 0, own = 0;
  for (const Point& point : ours) {
    if (theirs.empty() || point.lag_s < theirs.front().lag_s || point.lag_s > theirs.back().lag_s)
      continue;
    const Point other = interpolated(theirs, point.lag_s);
    // Where one curve has no errors, the other's are used.
    double error = std::hypot(point.error, other.error);
    if (std::isnan(point.error)) error = other.error;
    if (std::isnan(other.error)) error = point.error;
    c.lags.push_back({point.lag_s, point.g, other.g, error});
    const double weight = std::isnan(error) ? 0 : 1 / (error * error);
    difference2 += (point.g - other.g) * (point.g - other.g);
    cross += weight * point.g * other.g;
    own += weight * other.g * other.g;
  }
  if (c.lags.size() < 2)
    throw Error(ErrorKind::config, "curves", core::counted(c.lags.size(), "lag") + " in common",
                "two or more lags of the first within those of the second");
  if (own == 0)
    for (const ComparedLag& one : c.lags) {
      cross += one.first * one.second;
      own += one.second * one.second;
    }
  c.rms_difference = std::sqrt(difference2 / static_cast<double>(c.lags.size()));
  c.height_ratio = cross / own;
  c.rms_sigmas = rms_sigmas(c.lags, 1);
  c.scaled_rms_sigmas = rms_sigmas(c.lags, c.height_ratio);
  c.agrees = !(c.rms_sigmas > kMostSigmas);
  c.verdict = std::isnan(c.rms_sigmas)
                  ? std::string("no errors are known: nothing to judge by")
                  : fmt::format("the curves {}: {:.2f} of their errors apart, {} is the limit",
                                c.agrees ? "agree" : "do not agree", c.rms_sigmas, kMostSigmas);
  return c;
}

CurveComparison compare_curve_files(const std::string& first, std::size_t first_curve,
                                    const std::string& second, std::size_t second_curve) {
  return compare_curves(curve_of(first, "curve", first_curve),
                        curve_of(second, "other_curve", second_curve));
}

}  // namespace tautline::pipeline
