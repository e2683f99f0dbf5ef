// The points of curves that a model is fitted to, and the deviations of single segments.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit/least_squares.h"

namespace tautline::pipeline::fit {

/// The range of fitted lags; lag 0 never is.
struct PointRange {
  double lowest_lag_s, highest_lag_s;
  bool weighted;  ///< by the curves' standard errors

  bool has(double lag_s) const {
    return lag_s > 0 && lag_s >= lowest_lag_s && lag_s <= highest_lag_s;
  }
};

/// The points of one curve within the range: with a defined g, and with an error where the curve has errors.
Points points_of(const core::CorrelationCurves& c, std::size_t curve, const PointRange& range);

/// The lags of the range at which at least one curve has a point; all of the range where none has.
std::vector<double> lags_with_points(const core::CorrelationCurves& c, const PointRange& range);

/// The file's lags of the points.
std::vector<std::size_t> places_of(const core::CorrelationCurves& c, const Points& points);
/// The segments with a defined g at every one of these lags.
std::vector<std::size_t> lit_segments(const core::CorrelationCurves& c, std::size_t curve,
                                      const std::vector<std::size_t>& places);

/// The number of segments with a defined g at every point (a segment without counts has none), which the curve's errors
/// are of; all segments where the file has no curves of segments.
std::size_t segments_of(const core::CorrelationCurves& c, std::size_t curve, const Points& points);

/// The deviation of each segment's curve from their mean, with each lag weighted by the segment's share of its pairs
/// (docs/maths/fit.md): the first segment has fewer pairs than the others where the lag reaches before the run. Files
/// without numbers of pairs have equal shares. Empty where a segment has no pairs.
std::vector<std::vector<double>> deviations_of(const core::CorrelationCurves& c, std::size_t curve,
                                               const Points& points);

}  // namespace tautline::pipeline::fit
