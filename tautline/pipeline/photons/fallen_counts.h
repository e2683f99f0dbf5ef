// Stops of all sensors that leave dark counts: a shutter that closes, a detector that protects itself
// (docs/design/empty.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/repeated_stops.h"

namespace tautline::pipeline {

/// Steps of fallen counts: of this length at most, but of a whole bin, and in long runs longer, so that they are so many.
inline constexpr double kFallStep_s = 0.00025;
inline constexpr std::uint64_t kMostFallSteps = std::uint64_t{1} << 20;

inline std::uint64_t bins_of_fall_step(std::uint64_t bins, double bin_s) {
  return std::max({std::uint64_t{1}, static_cast<std::uint64_t>(kFallStep_s / bin_s),
                   (bins + kMostFallSteps - 1) / kMostFallSteps});
}

/// Looks for stretches of 10 ms or more, outside of `known` stops, with at most a third of the usual counts, which the
/// run's other such stretches do not explain: 1,000 and a tenth of the run at most. Where they are longer together than the
/// stops in `repeated`, and these are not certain, they take their place. `run.counts`: in steps as above.
void add_falls(const CountsOfSteps& run, std::span<const BinRange> known, RepeatedStops& repeated);

/// Of named stops with dark counts those go that are the stops of single sensors, while others count.
void leave_falls_to_sensors(Stops& stops);

}  // namespace tautline::pipeline
