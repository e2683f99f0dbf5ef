// The table that `fit` writes, read for the lines of its models.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::plot {

struct FittedCurve {
  std::size_t sensor = 0;
  std::string label, status;
  std::vector<double> values, errors;  ///< of FitTable::parameters; NaN where nothing was fitted
  double chi_squared = std::numeric_limits<double>::quiet_NaN();
  int degrees_of_freedom = 0;
};

struct FitTable {
  fit::Model model;
  std::vector<fit::Parameter> parameters;
  double lowest_lag_s = 0;  ///< that were fitted
  double highest_lag_s = std::numeric_limits<double>::infinity();
  std::string command;  ///< that made it; empty: unknown
  std::vector<FittedCurve> curves;
};

/// Whether a text begins as such a table does.
bool holds_fits(const std::string& path);
/// Throws Error(format) with the line.
FitTable read_fit_table(const std::string& path);

}  // namespace tautline::pipeline::plot
