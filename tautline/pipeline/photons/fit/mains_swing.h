// Light that swings with the mains, whose curve has a cosine that no lag damps.
#pragma once

#include <optional>
#include <span>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

struct Swing {
  double frequency_hz = 0;
  double part = 0;  ///< the amplitude of the rate over its mean
};

/// A swing of 50, 60, 100 or 120 Hz in what the model with these values leaves of the points, which have errors, beyond what
/// noise makes; docs/maths/fit.md has the rule.
std::optional<Swing> mains_swing(const Model& model, std::span<const double> values,
                                 const Points& points);

}  // namespace tautline::pipeline::fit
