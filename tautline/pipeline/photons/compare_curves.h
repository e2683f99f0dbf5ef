// Compares two correlation curves: ours and another correlator's, for instance.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"

namespace tautline::pipeline {

/// One lag of the first curve within the range of the second.
struct ComparedLag {
  double lag_s = 0;
  double first = 0, second = 0;  ///< g; the second's interpolated between its lags' logarithms
  double error = std::numeric_limits<double>::quiet_NaN();  ///< of the difference; NaN: unknown
};

struct CurveComparison {
  std::string first, second;  ///< labels
  std::vector<ComparedLag> lags;
  double rms_difference = 0;  ///< of g
  /// The factor of the second curve that fits it to the first by least squares: backgrounds and detectors change
  /// heights, but not times.
  double height_ratio = 0;
  /// Root mean square of difference over error, before and after height_ratio; NaN where no errors are known.
  double rms_sigmas = 0, scaled_rms_sigmas = 0;
  bool agrees = true;  ///< rms_sigmas is at most 2, or unknown
  std::string verdict;
};

/// Throws Error(config) when fewer than two lags of the first lie within the second's.
CurveComparison compare_curves(const core::CorrelationCurve& first,
                               const core::CorrelationCurve& second);

/// Compares curves of files: .csv, .SIN, .ASC or .h5. Throws Error(config) when the curve does not exist, or is one of
/// sums (Normalization::none).
CurveComparison compare_curve_files(const std::string& first, std::size_t first_curve,
                                    const std::string& second, std::size_t second_curve);

}  // namespace tautline::pipeline
