// What a search says of its noise: whether sums as wide as its pulses scatter more than those of white noise.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tautline/core/candidate.h"
#include "tautline/pipeline/search/noise_of_widths.h"

namespace tautline::pipeline {

/// The widest of the ten best, of which a search measures the noise; null where all have less than four samples.
/// `candidates`: best first.
const core::Candidate* widest_of_best(std::span<const core::Candidate> candidates);

/// Of a trial, enough for sums of this width.
std::size_t samples_for_noise(std::size_t width_samples);

/// The zero-DM filter against such noise.
struct ZeroDmAgainstNoise {
  bool possible = false;         ///< it is not in use, and there are channels
  std::optional<double> excess;  ///< over white noise with it, where that was measured
};

/// Of noise that is_much().
std::string noise_warning(const WidthNoise& noise, double dm, double rate_hz,
                          const ZeroDmAgainstNoise& zero_dm);

}  // namespace tautline::pipeline
