// The Config of fits of correlation curves.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/field_words.h"
#include "tautline/core/fields.h"
#include "tautline/pipeline/photons/fit/detector_correction.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline {

struct FitConfig {
  std::string input;                     ///< G.h5, G.zip, .csv, .SIN, .ASC
  std::vector<std::string> more_inputs;  ///< further files, whose curves follow those of `input`
  std::string output;                    ///< F.csv; empty: none
  std::string report;                    ///< F.html; empty: none
  core::FieldWords words = {};           ///< of the page's warnings
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

}  // namespace tautline::pipeline
