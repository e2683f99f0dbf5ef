#include "tautline/pipeline/photons/fit/curve_points.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tautline::pipeline::fit {

std::vector<std::size_t> places_of(const core::CorrelationCurves& c, const Points& points) {
  std::vector<std::size_t> places;
  for (std::size_t l = 0; l < c.lags && places.size() < points.lag_s.size(); ++l)
    if (c.lag_s[l] == points.lag_s[places.size()]) places.push_back(l);
  return places;
}

std::vector<std::size_t> lit_segments(const core::CorrelationCurves& c, std::size_t curve,
                                      const std::vector<std::size_t>& places) {
  std::vector<std::size_t> lit;
  for (std::size_t k = 0; k < c.segments; ++k)
    if (std::ranges::all_of(places, [&](std::size_t lag) {
          return std::isfinite(c.segment_g[(k * c.curves + curve) * c.lags + lag]);
        }))
      lit.push_back(k);
  return lit;
}

Points points_of(const core::CorrelationCurves& c, std::size_t curve, const PointRange& range) {
  Points points;
  for (std::size_t l = 0; l < c.lags; ++l) {
    const double lag = c.lag_s[l], g = c.g[curve * c.lags + l];
    if (!range.has(lag) || !std::isfinite(g)) continue;
    const double error = range.weighted ? c.standard_error[curve * c.lags + l] : 1;
    if (!(error > 0) || !std::isfinite(error)) continue;
    points.lag_s.push_back(lag);
    points.g.push_back(g);
    if (range.weighted) points.standard_error.push_back(error);
  }
  return points;
}

std::vector<double> lags_with_points(const core::CorrelationCurves& c, const PointRange& range) {
  std::vector<double> all;
  std::vector<std::uint8_t> used(c.lags);
  for (std::size_t k = 0; k < c.curves; ++k) {
    if (k < c.mask.size() && c.mask[k] == 0) continue;
    for (const std::size_t lag : places_of(c, points_of(c, k, range))) used[lag] = 1;
  }
  const bool none = std::find(used.begin(), used.end(), 1) == used.end();
  for (std::size_t l = 0; l < c.lags; ++l)
    if (range.has(c.lag_s[l]) && (none || used[l] != 0)) all.push_back(c.lag_s[l]);
  return all;
}

std::size_t segments_of(const core::CorrelationCurves& c, std::size_t curve, const Points& points) {
  if (c.segment_g.size() != c.segments * c.curves * c.lags) return c.segments;
  return lit_segments(c, curve, places_of(c, points)).size();
}

std::vector<std::vector<double>> deviations_of(const core::CorrelationCurves& c, std::size_t curve,
                                               const Points& points) {
  const bool counted = c.segment_counts.size() == c.segments * c.lags;
  const std::vector<std::size_t> places = places_of(c, points);
  const auto pairs_of = [&](std::size_t k, std::size_t lag) {
    return counted ? static_cast<double>(c.segment_counts[k * c.lags + lag]) : 1.0;
  };
  const auto g_of = [&](std::size_t k, std::size_t lag) {
    return static_cast<double>(c.segment_g[(k * c.curves + curve) * c.lags + lag]);
  };
  for (std::size_t k = 0; k < c.segments; ++k)
    for (const std::size_t lag : places)
      if (!(pairs_of(k, lag) > 0)) return {};
  const std::vector<std::size_t> lit = lit_segments(c, curve, places);
  if (2 * lit.size() < c.segments) return {};
  const auto segments = static_cast<double>(lit.size());
  std::vector<std::vector<double>> all(lit.size());
  for (const std::size_t lag : places) {
    double pairs = 0, mean = 0;
    for (const std::size_t k : lit) {
      pairs += pairs_of(k, lag);
      mean += pairs_of(k, lag) * g_of(k, lag);
    }
    mean /= pairs;
    for (std::size_t n = 0; n < lit.size(); ++n)
      all[n].push_back(std::sqrt(segments * pairs_of(lit[n], lag) / pairs) *
                       (g_of(lit[n], lag) - mean));
  }
  return all;
}

}  // namespace tautline::pipeline::fit
