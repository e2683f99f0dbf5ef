// The parameters of a fit as its Config sets them.
#pragma once

#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit_config.h"

namespace tautline::pipeline {

/// The parameter of that name. Throws Error(config) of `field`, which has the name, where there is none.
fit::Parameter& find_parameter(std::vector<fit::Parameter>& parameters, const std::string& name,
                               const std::string& field);

/// The model's parameters with the Config's bounds, starts and fixed values. Throws Error(config) for values that a
/// parameter cannot have.
std::vector<fit::Parameter> configured_parameters(const FitConfig& config);

}  // namespace tautline::pipeline
