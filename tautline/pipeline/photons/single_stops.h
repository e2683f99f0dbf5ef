// Stops of one of several sensors that come again and again, while others count (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/longest_gaps.h"
#include "tautline/pipeline/photons/repeated_stops.h"

namespace tautline::pipeline {

/// Gaps of one sensor that are kept, of LongestGaps: 1 MiB at most.
inline constexpr std::size_t kMostGapsOfOne = std::size_t{1} << 15;

/// repeated_stops() of one sensor, without those that a lone emitter explains, which blinks in front of it alone: they are
/// of one length, or so many that there would have been a dark count among them.
std::vector<BinRange> single_stops(const CountsOfSteps& run, const LongestGaps& gaps,
                                   std::span<const BinRange> known);

/// The same of counts in steps of `step_s`, of stops of eight steps or more.
std::vector<StepRange> single_stops(std::span<const double> counts, double step_s);

}  // namespace tautline::pipeline
