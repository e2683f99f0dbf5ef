#include "tautline/pipeline/photons/fit/unlike_segment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace tautline::pipeline::fit {

namespace {

constexpr std::size_t kFewestToCompare = 6;
// Student's t of the segment's mean deviation, against the others.
constexpr double kUnlikeTheOthers = 10;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

double middle_value(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Student's t of one value against the others.
double t_of(const std::vector<double>& values, std::size_t one) {
  const auto others = static_cast<double>(values.size() - 1);
  double mean = 0, squares = 0;
  for (std::size_t k = 0; k < values.size(); ++k) mean += k == one ? 0 : values[k] / others;
  for (std::size_t k = 0; k < values.size(); ++k)
    squares += k == one ? 0 : (values[k] - mean) * (values[k] - mean);
  const double variance = squares / (others - 1) * (1 + 1 / others);
  return variance > 0 ? (values[one] - mean) / std::sqrt(variance) : 0;
}

}  // namespace

std::optional<std::size_t> unlike_segment(const core::CorrelationCurves& c, std::size_t curve,
                                          const Points& points) {
  if (c.segment_g.size() != c.segments * c.curves * c.lags) return std::nullopt;
  const std::vector<std::size_t> places = places_of(c, points);
  const std::vector<std::size_t> lit = lit_segments(c, curve, places);
  if (lit.size() < kFewestToCompare) return std::nullopt;
  // The mean over the lags of each segment's deviation from the median, in median deviations of that lag: a single
  // segment moves neither.
  std::vector<double> sums(lit.size());
  for (const std::size_t lag : places) {
    std::vector<double> g, sizes;
    for (const std::size_t k : lit) g.push_back(c.segment_g[(k * c.curves + curve) * c.lags + lag]);
    const double middle = middle_value(g);
    for (const double one : g) sizes.push_back(std::fabs(one - middle));
    const double deviation = middle_value(std::move(sizes));
    if (!(deviation > 0)) continue;
    for (std::size_t n = 0; n < g.size(); ++n) sums[n] += (g[n] - middle) / deviation;
  }
  const auto highest = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
  if (t_of(sums, highest) < kUnlikeTheOthers) return std::nullopt;
  return lit[highest];
}

core::CorrelationCurves without_segment(const core::CorrelationCurves& c, std::size_t curve,
                                        std::size_t segment) {
  core::CorrelationCurves rest;
  rest.curves = 1;
  rest.lags = c.lags;
  rest.lag_s = c.lag_s;
  rest.normalization = c.normalization;
  const bool counted = c.segment_counts.size() == c.segments * c.lags;
  for (std::size_t k = 0; k < c.segments; ++k) {
    if (k == segment) continue;
    ++rest.segments;
    for (std::size_t l = 0; l < c.lags; ++l) {
      rest.segment_g.push_back(c.segment_g[(k * c.curves + curve) * c.lags + l]);
      if (counted) rest.segment_counts.push_back(c.segment_counts[k * c.lags + l]);
    }
  }
  for (std::size_t l = 0; l < c.lags; ++l) {
    double pairs = 0, mean = 0, squares = 0, segments = 0;
    const auto over_lit = [&](const auto& add) {
      for (std::size_t k = 0; k < rest.segments; ++k) {
        const double g = rest.segment_g[k * c.lags + l];
        const double weight =
            counted ? static_cast<double>(rest.segment_counts[k * c.lags + l]) : 1.0;
        if (std::isfinite(g) && weight > 0) add(g, weight);
      }
    };
    over_lit([&](double g, double weight) { pairs += weight, mean += weight * g, ++segments; });
    mean /= pairs;
    over_lit([&](double g, double weight) { squares += weight * (g - mean) * (g - mean); });
    const bool known = segments > 1 && pairs > 0;
    rest.g.push_back(known ? mean : kNoValue);
    rest.standard_error.push_back(known ? std::sqrt(squares / pairs / (segments - 1)) : kNoValue);
  }
  return rest;
}

}  // namespace tautline::pipeline::fit
