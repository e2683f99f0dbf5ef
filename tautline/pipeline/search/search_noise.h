// What a search says of its noise: whether sums as wide as its pulses scatter more than those of white noise.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "tautline/core/candidate.h"
#include "tautline/pipeline/search/empty_found.h"
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
  bool stopped = false;          ///< some of them did for a while
  std::optional<double> excess;  ///< over white noise with it, where that was measured
};

/// Whether any channel stopped for a while.
bool channels_stopped(const EmptyFound& found);

/// Of noise that is_much(). The filter is not advised where channels stop: a loss in some of them becomes a change in all
/// the others.
std::string noise_warning(const WidthNoise& noise, double dm, double rate_hz,
                          const ZeroDmAgainstNoise& zero_dm);

}  // namespace tautline::pipeline
