// A segment of a run whose curve is unlike those of the others: a bright particle that crossed the focus once.
#pragma once

#include <cstddef>
#include <optional>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit/curve_points.h"

namespace tautline::pipeline::fit {

/// The segment whose curve is above the others' at `points` by more than their scatter explains; docs/maths/fit.md has the
/// rule. None with fewer than six segments that have g at every point.
std::optional<std::size_t> unlike_segment(const core::CorrelationCurves& c, std::size_t curve,
                                          const Points& points);

/// One curve of the run without a segment: the mean of the other segments' curves, each weighted by its pairs, with the
/// standard errors of their scatter. Has no trace.
core::CorrelationCurves without_segment(const core::CorrelationCurves& c, std::size_t curve,
                                        std::size_t segment);

}  // namespace tautline::pipeline::fit
