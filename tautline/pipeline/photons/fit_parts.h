// Optional parts of a model that a curve does not need: a dark state, a detector's term, a second species.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/photons/fit_config.h"

namespace tautline::pipeline {

struct UnneededPart {
  std::string part;   ///< "+triplet", "+afterpulsing" or "a second species"
  std::string model;  ///< without it
  double gain = 0;    ///< by which chi-squared is smaller with it
  double noise = 0;   ///< the gain that noise exceeds once in a thousand fits
};

/// The part with free parameters that lowers chi-squared by less than noise alone does; of several the one that lowers it
/// least. `solution`: of `points` and config.model; `segments`: of their errors. Not parts with shared parameters.
std::optional<UnneededPart> unneeded_part(const FitConfig& config,
                                          const std::vector<fit::Parameter>& parameters,
                                          const fit::Points& points, const fit::Solution& solution,
                                          std::size_t segments);

}  // namespace tautline::pipeline
