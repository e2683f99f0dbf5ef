#include "tautline/pipeline/photons/fit_search.h"

#include <utility>

#include "tautline/pipeline/photons/fit/start.h"

namespace tautline::pipeline {

fit::Solution best_fit(const FitConfig& config, const std::vector<fit::Parameter>& parameters,
                       const fit::Points& points) {
  fit::Solution best;
  bool found = false;
  for (const auto& start : fit::starts_of(config.model, parameters, points, config.starts)) {
    fit::Solution one = fit::solve(config.model, start, points);
    const bool better = !found || (one.converged && !best.converged) ||
                        (one.converged == best.converged && one.chi_squared < best.chi_squared);
    if (better) best = std::move(one);
    found = true;
  }
  return best;
}

void order_species(const FitConfig& config, const std::vector<fit::Parameter>& parameters,
                   fit::Solution& solution) {
  if (config.model.shape != fit::Shape::two_species_3d) return;
  for (std::size_t k = 1; k <= 3; ++k)
    if (parameters[k].fixed) return;  // the user distinguished the species
  auto& values = solution.values;
  if (!(values[1] > values[2])) return;
  std::swap(values[1], values[2]);
  std::swap(solution.standard_errors[1], solution.standard_errors[2]);
  values[3] = 1 - values[3];
}

}  // namespace tautline::pipeline
