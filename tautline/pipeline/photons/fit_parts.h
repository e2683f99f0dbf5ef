// Optional parts of a model that a curve does not need: a dark state, a detector's term, a second species, the highest
// cumulant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/photons/fit_config.h"

namespace tautline::pipeline {

struct UnneededPart {
  std::string part;   ///< "+triplet", "+afterpulsing", "a second species", "a third cumulant"
  std::string model;  ///< without it
  std::string why;    ///< "chi-squared is 3.1 smaller with it" or the amplitude's errors
  double gain = 0;    ///< by which chi-squared is smaller with it
};

/// The part with free parameters that lowers chi-squared by no more than chance does, or whose amplitude is less than
/// three standard errors (docs/maths/fit.md); of several the one that lowers it least. `solution`: of `points` and
/// config.model. Not parts whose amplitude is held or whose parameters are shared.
std::optional<UnneededPart> unneeded_part(const FitConfig& config,
                                          const std::vector<fit::Parameter>& parameters,
                                          const fit::Points& points, const fit::Solution& solution);

}  // namespace tautline::pipeline
