// Two correlation curves beside each other: ours and another correlator's, say.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"

namespace tautline::pipeline {

/// One lag of the first curve that the second one reaches.
struct ComparedLag {
  double lag_s = 0;
  double first = 0, second = 0;  ///< g; the second's interpolated between its lags' logarithms
  double error = std::numeric_limits<double>::quiet_NaN();  ///< of the difference; NaN: not known
};

struct CurveComparison {
  std::string first, second;  ///< labels
  std::vector<ComparedLag> lags;
  double rms_difference = 0;  ///< of g
  /// What the second is multiplied by to lie on the first, by least squares: backgrounds and
  /// detectors change heights, and leave times.
  double height_ratio = 0;
  /// Root mean square of difference over error, as the curves are and after height_ratio; NaN where no
  /// errors are known.
  double rms_sigmas = 0, scaled_rms_sigmas = 0;
  bool agrees = true;  ///< rms_sigmas is not above 2, or not known
  std::string verdict;
};

/// Throws Error(config) when fewer than two lags of the first lie within the second's.
CurveComparison compare_curves(const core::CorrelationCurve& first,
                               const core::CorrelationCurve& second);

/// Of files: .csv, .SIN, .ASC or .h5, and which of their curves. Throws Error(config) when there is no
/// such curve, or one holds sums (Normalization::none).
CurveComparison compare_curve_files(const std::string& first, std::size_t first_curve,
                                    const std::string& second, std::size_t second_curve);

}  // namespace tautline::pipeline
