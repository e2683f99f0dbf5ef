// Correlation curves to numbers of particles and diffusion times, sensor by sensor.
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
  std::vector<std::string> more_inputs;  ///< whose curves come behind those of `input`
  std::string output;                    ///< F.csv; empty: nothing is written
  std::string report;                    ///< F.html; empty: none
  bool overwrite = false;
  fit::Model model;
  /// What the user says of parameters, by name: where to start, whether to hold, between what.
  std::map<std::string, double> starts, fixed;
  std::map<std::string, std::pair<double, double>> bounds;
  std::vector<std::string>
      shared;  ///< that have one value for all curves, which are fitted together
  std::vector<std::string> freed;  ///< of those that are fixed by default: kappa, offset, blur
  double lowest_lag_s = 0;         ///< lags below are left out; lag 0 always is
  double highest_lag_s = std::numeric_limits<double>::infinity();
  double waist_um = 0;  ///< of the focus; 2d-pixel: of the point spread function. 0: no D from it
  double pixel_um = 0;  ///< side of a pixel, 2d-pixel
  double q_per_um = 0;  ///< length of the scattering vector, for D of cumulants; 0: none from it
  fit::DetectorCorrection detector;  ///< what is taken out of the curves first
  /// A fit of more is doubtful; 0: what noise explains (fit/doubt.h).
  double highest_reduced_chi2 = 0;
  bool weighted = true;  ///< by the standard errors, where the file has them
  std::size_t threads = 0;
  std::string history;
};
const core::Fields<FitConfig>& fields(const FitConfig&);

/// Length of the focus over its waist, where nobody says.
inline constexpr double kDefaultKappa = 5;
/// Starts models of a focus there, unless config.starts says where.
void assume_kappa(FitConfig& config, double kappa = kDefaultKappa);

/// One curve's fit. Errors of parameters: fit::Solution.
struct CurveFit {
  std::size_t sensor = 0;
  fit::Solution solution;
  double g0 = 0;        ///< G(0) without offset
  double g0_error = 0;  ///< from n's, as far as n carries it
  double d_um2_per_s = std::numeric_limits<double>::quiet_NaN(), d_error = d_um2_per_s;
  double rate_hz = std::numeric_limits<double>::quiet_NaN();
  bool masked = false;  ///< the file's mask calls it bad: not fitted
  bool hot = false;     ///< counts far more than its neighbours; fitted, left out of the summary
  /// The search ended well, but there is no reduced chi-squared that could say whether the model describes the curve.
  bool unjudged = false;
  std::string status;  ///< "ok", "masked", "hot", "not judged: ...", or what is wrong
  /// The model describes the curve from here on, which is before its fall and keeps half of the lags or more, and not
  /// with the shorter lags; NaN: nothing to suggest.
  double suggested_lowest_lag_s = std::numeric_limits<double>::quiet_NaN();
  bool good() const { return status == "ok"; }
  double reduced_chi_squared() const {
    return solution.degrees_of_freedom > 0 ? solution.chi_squared / solution.degrees_of_freedom
                                           : std::numeric_limits<double>::quiet_NaN();
  }
};

struct FitResult {
  fit::Model model;
  std::vector<fit::Parameter> parameters;  ///< as they were started, of the first curve
  std::vector<double> lag_s;               ///< in the range, with a point of a curve
  std::vector<CurveFit> fits;              ///< one for each curve of the file
  std::map<std::string, double>
      medians;  ///< over the good and unjudged fits, of parameters, g0, reduced_chi2 (NaN unweighted), d
  std::size_t good = 0, unjudged = 0, masked = 0, hot = 0, failed = 0;
  bool weighted = false;
  bool from_segments = false;  ///< errors of parameters are those that the run's segments give
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

/// Adds a warning of each file whose correlator said that sensors had stopped, and puts the fits of their curves in doubt:
/// they are bent, however well they fit.
void repeat_stops(const core::CorrelationCurves& curves, const std::vector<std::string>& paths,
                  const std::vector<formats::curves::CurvesFacts>& facts, FitResult& result);

/// Reads config.input, fits, and writes what config names.
FitResult fit_file(const FitConfig& config, const FitProgress& progress = {},
                   std::stop_token stop = {});

}  // namespace tautline::pipeline
