// Weighted least squares of one curve, or of several with shared parameters, within bounds, by MINPACK's
// Levenberg-Marquardt.
#pragma once

#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

struct Points {
  std::vector<double> lag_s, g;
  std::vector<double> standard_error;  ///< empty: all points have equal weight
};

struct Solution {
  bool converged = false;
  std::string trouble;  ///< the reason for failure or doubt; empty for a good solution
  std::vector<double> values;
  /// Of each parameter: 0 when fixed, NaN when it ended at a bound or is not determined. From the points' errors, taken
  /// as independent; without errors, from the scatter about the curve.
  std::vector<double> standard_errors;
  double chi_squared = 0;  ///< without errors: the sum of squares
  int degrees_of_freedom = 0;
};

/// A parameter's standard error of 0 or NaN in words: "held", "at its bound" or "not determined". `trouble`: of the
/// solution, or a status that has it.
std::string without_error(const std::string& parameter, double standard_error,
                          const std::string& trouble);

/// Throws Error(unsupported) in a build without cminpack, Error(config) when a start lies outside
/// its bounds. Parameters that are fixed keep their value.
Solution solve(const Model& model, const std::vector<Parameter>& parameters, const Points& points);

/// Several curves at once. Parameters whose `shared` is true have one value for all curves, the others one for each;
/// starts[curve][parameter] are the starts (shared ones: those of the first curve). Throws as solve(), and
/// Error(config) where the problem exceeds the memory. Returns a solution for each curve: its own part of chi_squared,
/// and as degrees of freedom its points less its own parameters and its share of the shared ones, rounded down.
std::vector<Solution> solve_together(const Model& model,
                                     const std::vector<std::vector<Parameter>>& starts,
                                     const std::vector<bool>& shared,
                                     const std::vector<Points>& points);

/// Replaces solution.standard_errors by errors from the run's segments: the deviation of each segment's curve from
/// their mean, deviations[segment][point] over solve()'s points, times the square root of K and of the segment's share
/// of the point's pairs, moves the parameters by its least-squares projection; the scatter of these moves is the error.
/// It includes the correlation of neighbouring lags, which the errors of single lags do not. Parameters without an
/// error (fixed, at a bound) keep none. False, and nothing is changed, with fewer than three segments.
bool use_segments(const Model& model, const std::vector<Parameter>& parameters,
                  const Points& points, const std::vector<std::vector<double>>& deviations,
                  Solution& solution);
/// The same for curves that were solved together; deviations[curve][segment][point].
bool use_segments_together(const Model& model, const std::vector<Parameter>& parameters,
                           const std::vector<bool>& shared, const std::vector<Points>& points,
                           const std::vector<std::vector<std::vector<double>>>& deviations,
                           std::vector<Solution>& solutions);

}  // namespace tautline::pipeline::fit
