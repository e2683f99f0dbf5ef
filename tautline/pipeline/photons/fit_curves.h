// Fits correlation curves: numbers of particles and diffusion times, sensor by sensor.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/core/fields.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/photons/fit/detector_correction.h"
#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline {

struct FitConfig {
  std::string input;                     ///< G.h5, G.zip, .csv, .SIN, .ASC
  std::vector<std::string> more_inputs;  ///< further files, whose curves follow those of `input`
  std::string output;                    ///< F.csv; empty: none
  std::string report;                    ///< F.html; empty: none
  bool overwrite = false;
  fit::Model model;
  /// The user's starts, fixed values and bounds of parameters, by name.
  std::map<std::string, double> starts, fixed;
  std::map<std::string, std::pair<double, double>> bounds;
  /// Parameters with one value for all curves, which are then fitted together.
  std::vector<std::string> shared;
  std::vector<std::string> freed;  ///< of those fixed by default: kappa, offset, blur
  double lowest_lag_s = 0;         ///< lags below are left out; lag 0 always is
  double highest_lag_s = std::numeric_limits<double>::infinity();
  double waist_um = 0;  ///< of the focus; 2d-pixel: of the point spread function. 0: no D
  double pixel_um = 0;  ///< side of a pixel, 2d-pixel
  double q_per_um = 0;  ///< length of the scattering vector, for D of cumulants; 0: no D
  fit::DetectorCorrection detector;  ///< effects that are removed from the curves before the fit
  /// A fit with a larger reduced chi-squared is doubtful; 0: the limit of noise (fit/doubt.h).
  double highest_reduced_chi2 = 0;
  bool weighted = true;  ///< by the standard errors, where the file has them
  std::size_t threads = 0;
  std::string history;
};
const core::Fields<FitConfig>& fields(const FitConfig&);

/// Length of the focus over its waist, where it is not given.
inline constexpr double kDefaultKappa = 5;
/// Starts models of a focus there, unless config.starts has a value.
void assume_kappa(FitConfig& config, double kappa = kDefaultKappa);

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
  /// The search converged, but no reduced chi-squared tests whether the model describes the curve.
  bool unjudged = false;
  std::string status;  ///< "ok", "masked", "hot", "not judged: ...", or the reason for doubt
  /// The model describes the curve from this lag on, but not with the shorter lags; the lag is before the curve's fall
  /// and keeps at least half of the lags. NaN: no suggestion.
  double suggested_lowest_lag_s = std::numeric_limits<double>::quiet_NaN();
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

using FitProgress = std::function<void(double)>;

/// Fits every curve. Throws Error(config) naming the parameter or the range.
FitResult fit_curves(const core::CorrelationCurves& curves, const FitConfig& config,
                     const FitProgress& progress = {}, std::stop_token stop = {});

/// One line for each curve: sensor, label, row, column, status, each parameter and its error, d,
/// g0, chi2, degrees of freedom, reduced_chi2 (NaN unweighted), rate_hz, brightness_hz (rate / n).
std::string fit_csv(const FitResult& result, const core::CorrelationCurves& curves,
                    const std::string& history);

/// Adds a warning for each file whose correlator reported stopped sensors, and marks the fits of their curves as
/// doubtful: stops distort a curve, however good its fit.
void repeat_stops(const core::CorrelationCurves& curves, const std::vector<std::string>& paths,
                  const std::vector<formats::curves::CurvesFacts>& facts, FitResult& result);

/// Reads config.input, fits, and writes what config names.
FitResult fit_file(const FitConfig& config, const FitProgress& progress = {},
                   std::stop_token stop = {});

}  // namespace tautline::pipeline
