// The starting values of a fit, estimated from the curve.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

/// `parameters` with n from the height of the first lags and tau_d from the lag of half height; for models with a dark
/// state or two species, several guesses of their times. Fixed parameters, and those in `given`, keep their values.
std::vector<std::vector<Parameter>> starts_of(const Model& model,
                                              const std::vector<Parameter>& parameters,
                                              const Points& points,
                                              const std::map<std::string, double>& given);

}  // namespace tautline::pipeline::fit
