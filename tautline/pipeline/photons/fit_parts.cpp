#include "tautline/pipeline/photons/fit_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit_parameters.h"
#include "tautline/pipeline/photons/fit_search.h"

namespace tautline::pipeline {

namespace {

struct OptionalPart {
  std::string name, amplitude;
  fit::Model without;
};

std::vector<OptionalPart> optional_parts_of(const fit::Model& model) {
  std::vector<OptionalPart> parts;
  if (model.triplet)
    parts.push_back({"+triplet", "triplet", model}), parts.back().without.triplet = false;
  if (model.afterpulsing)
    parts.push_back({"+afterpulsing", "afterpulse", model}),
        parts.back().without.afterpulsing = false;
  if (model.shape == fit::Shape::two_species_3d)
    parts.push_back({"a second species", "fraction", model}),
        parts.back().without.shape = fit::Shape::diffusion_3d;
  if (model.shape == fit::Shape::cumulants_2)
    parts.push_back({"a second cumulant", "pdi", model}),
        parts.back().without.shape = fit::Shape::cumulants_1;
  if (model.shape == fit::Shape::cumulants_3)
    parts.push_back({"a third cumulant", "skewness", model}),
        parts.back().without.shape = fit::Shape::cumulants_2;
  return parts;
}

// Standard errors of an amplitude; and of chi-squared, what chance exceeds as rarely as a normal number exceeds three
// standard deviations on either side: 9.1 for one parameter, 12 for two.
constexpr double kErrorsOfAmplitude = 3, kRareGain = 2.78;

// The errors of a curve of scattered light are mostly of its height, which all lags have in common, and chi-squared is a
// small part of its degrees of freedom: there the scatter about the fit is the noise of the curve's shape.
double noise_of(const fit::Model& model, const fit::Solution& solution) {
  return fit::is_scattering(model)
             ? std::min(1.0, solution.chi_squared / solution.degrees_of_freedom)
             : 1;
}

// The amplitude over its standard error, NaN where that is not known. Without a second species its share is 0 or 1.
double errors_of(const std::string& amplitude, const std::vector<fit::Parameter>& parameters,
                 const fit::Solution& solution) {
  const auto k = static_cast<std::size_t>(
      std::ranges::find(parameters, amplitude, &fit::Parameter::name) - parameters.begin());
  const double value = solution.values[k];
  return (amplitude == "fraction" ? std::min(value, 1 - value) : std::fabs(value)) /
         solution.standard_errors[k];
}

// The Config for a model that lacks some of its parameters.
FitConfig with_model(FitConfig config, const fit::Model& model) {
  config.model = model;
  config.shared.clear();
  const std::vector<fit::Parameter> own = fit::parameters_of(model);
  const auto is_other = [&](const std::string& name) {
    return std::ranges::find(own, name, &fit::Parameter::name) == own.end();
  };
  std::erase_if(config.starts, [&](const auto& one) { return is_other(one.first); });
  std::erase_if(config.fixed, [&](const auto& one) { return is_other(one.first); });
  std::erase_if(config.bounds, [&](const auto& one) { return is_other(one.first); });
  std::erase_if(config.freed, is_other);
  return config;
}

}  // namespace

std::optional<UnneededPart> unneeded_part(const FitConfig& config,
                                          const std::vector<fit::Parameter>& parameters,
                                          const fit::Points& points,
                                          const fit::Solution& solution) {
  std::optional<UnneededPart> least;
  for (const OptionalPart& part : optional_parts_of(config.model)) {
    const FitConfig less = with_model(config, part.without);
    const std::vector<fit::Parameter> fewer = configured_parameters(less);
    std::vector<fit::Parameter> own;
    std::ranges::copy_if(parameters, std::back_inserter(own), [&](const fit::Parameter& one) {
      return std::ranges::find(fewer, one.name, &fit::Parameter::name) == fewer.end();
    });
    // The user knows of a part whose amplitude is held, and other curves tell of one whose parameters are shared.
    const bool is_given = std::ranges::any_of(own, [&](const fit::Parameter& one) {
      return (one.fixed && one.name == part.amplitude) ||
             std::ranges::find(config.shared, one.name) != config.shared.end();
    });
    if (is_given) continue;
    const double free = static_cast<double>(std::ranges::count(own, false, &fit::Parameter::fixed));
    const fit::Solution without = best_fit(less, fewer, points);
    const double gain = without.chi_squared - solution.chi_squared;
    const double errors = errors_of(part.amplitude, parameters, solution);
    const bool better =
        gain >= noise_of(config.model, solution) * fit::chi_squared_beyond(kRareGain, free);
    if (!without.converged || (least && gain >= least->gain) ||
        (better && !(errors < kErrorsOfAmplitude)))
      continue;
    least = {part.name, fit::name_of(part.without),
             better ? fmt::format("its amplitude is {:.2g} standard errors", errors)
                    : fmt::format("chi-squared is {:.3g} smaller with it", std::max(0.0, gain)),
             gain};
  }
  return least;
}

}  // namespace tautline::pipeline
