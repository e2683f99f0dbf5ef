// The starting values of a fit, read off the curve.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

/// `parameters` with n from the height of the first lags and tau_d from where the curve has fallen
/// to half of it; for models with a dark state or two species, several guesses of their times.
/// What is fixed, or named in `given`, stays.
std::vector<std::vector<Parameter>> starts_of(const Model& model,
                                              const std::vector<Parameter>& parameters,
                                              const Points& points,
                                              const std::map<std::string, double>& given);

}  // namespace tautline::pipeline::fit
