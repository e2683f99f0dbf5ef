// The best fit of a model to the points of one curve.
#pragma once

#include <vector>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit_config.h"

namespace tautline::pipeline {

/// The best solution from the starts that the curve's shape suggests.
fit::Solution best_fit(const FitConfig& config, const std::vector<fit::Parameter>& parameters,
                       const fit::Points& points);

/// The first species is the faster one, so that curves of many sensors can be compared.
void order_species(const FitConfig& config, const std::vector<fit::Parameter>& parameters,
                   fit::Solution& solution);

}  // namespace tautline::pipeline
