// A step in the middle of a short series, against a level that drifts.
#pragma once

#include <cstddef>
#include <span>

namespace tautline::core {

/// The number of values on either side of the step for fit_step where files join, and the least
/// step that is not by chance: noise exceeds it with probability 6e-11 (Student's t with 29 degrees
/// of freedom; docs/design/empty.md).
inline constexpr std::size_t kStepSide = 16, kStepBlocks = 2 * kStepSide;
inline constexpr double kStepStandardErrors = 10;

struct StepFit {
  double mean = 0;
  double height = 0;           ///< of the step
  double standard_errors = 0;  ///< the same; 0 for values without scatter
  double deviation = 0;        ///< of the residuals
};

/// Least squares of a mean, a slope and a step between the halves of an even number of values, 4 or more. The step's
/// error follows from the scatter of the values about the fit. `times` of the values, ascending, for the slope; empty:
/// they are equally spaced.
StepFit fit_step(std::span<const double> values, std::span<const double> times = {});

}  // namespace tautline::core
