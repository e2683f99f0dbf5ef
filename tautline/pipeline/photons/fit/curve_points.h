// The points of curves that a model is fitted to, and what single segments say of them.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit/least_squares.h"

namespace tautline::pipeline::fit {

/// Which lags are fitted; lag 0 never is.
struct PointRange {
  double lowest_lag_s, highest_lag_s;
  bool weighted;  ///< by the curves' standard errors

  bool has(double lag_s) const {
    return lag_s > 0 && lag_s >= lowest_lag_s && lag_s <= highest_lag_s;
  }
};

/// The points of one curve within the range: defined, and where there are errors, with one.
Points points_of(const core::CorrelationCurves& c, std::size_t curve, const PointRange& range);

/// The lags of the range that at least one curve has a point at; all of the range where none has.
std::vector<double> lags_with_points(const core::CorrelationCurves& c, const PointRange& range);

/// What each segment's curve differs by from their mean, each lag weighed by the segment's share of its pairs
/// (docs/maths/fit.md): the first segment has fewer than the others where the lag reaches before the run. Files that do
/// not say how many have equal shares. Nothing where a segment has none.
std::vector<std::vector<double>> deviations_of(const core::CorrelationCurves& c, std::size_t curve,
                                               const Points& points);

}  // namespace tautline::pipeline::fit
