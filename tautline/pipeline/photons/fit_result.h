// The results of fits of correlation curves.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline {

/// One curve's fit. Errors of parameters: fit::Solution.
struct CurveFit {
  std::size_t sensor = 0;
  fit::Solution solution;
  double g0 = 0;        ///< G(0) without offset
  double g0_error = 0;  ///< propagated from n's error, as far as n determines g0
  double d_um2_per_s = std::numeric_limits<double>::quiet_NaN(), d_error = d_um2_per_s;
  double rate_hz = std::numeric_limits<double>::quiet_NaN();
  bool masked = false;  ///< excluded by the file's mask: not fitted
  bool hot = false;     ///< count rate far above the neighbours'; fitted, left out of the summary
  // Reasons for doubt that are in the counts, and that a good fit hides; solution.trouble has their words.
  bool counts_stop = false;  ///< the file's correlator reported so
  bool rate_steps = false;   ///< by rate_steps(); not of a sensor whose counts stop
  /// Words for changes of the rate that the model does not explain and that move the result.
  std::string slow_changes;
  /// Words for a part of the run whose curve is unlike the rest's and moves the result.
  std::string unlike_part;
  /// Words for light that swings with the mains, by fit::mains_swing().
  std::string swing;
  /// The search converged, but no reduced chi-squared tests whether the model describes the curve.
  bool unjudged = false;
  std::string status;  ///< "ok", "masked", "hot", "not judged: ...", or the reason for doubt
  /// The model describes the curve from this lag on, but not with the shorter lags; the lag is before the curve's fall
  /// and keeps at least half of the lags. NaN: no suggestion.
  double suggested_lowest_lag_s = std::numeric_limits<double>::quiet_NaN();
  /// The lags before the suggested one are below the model, as dead time makes them.
  bool dips = false;
  /// One with a second component, which describes the curve where config.model does not; empty: no suggestion.
  std::string suggested_model;
  /// One without a part of config.model that the curve does not need; empty: it needs all, or was not looked at.
  std::string model_without_part;
  /// The reduced chi-squared up to which the model is taken to describe the curve.
  double highest_reduced_chi2 = std::numeric_limits<double>::quiet_NaN();
  bool good() const { return status == "ok"; }
  double reduced_chi_squared() const {
    return solution.degrees_of_freedom > 0 ? solution.chi_squared / solution.degrees_of_freedom
                                           : std::numeric_limits<double>::quiet_NaN();
  }
};

struct FitResult {
  fit::Model model;
  std::vector<fit::Parameter> parameters;  ///< the starting values, of the first curve
  std::vector<double> lag_s;               ///< lags in the range with a point of any curve
  std::vector<CurveFit> fits;              ///< one for each curve of the file
  /// Over the good and unjudged fits, of parameters, g0, reduced_chi2 (NaN unweighted), d.
  std::map<std::string, double> medians;
  std::size_t good = 0, unjudged = 0, masked = 0, hot = 0, failed = 0;
  bool weighted = false;
  bool from_segments = false;  ///< errors of parameters come from the run's segments
  double suggested_lowest_lag_s = std::numeric_limits<double>::quiet_NaN();
  double elapsed_s = 0;
  std::vector<std::string> warnings;
};

}  // namespace tautline::pipeline
