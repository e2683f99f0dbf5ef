// Stops of all sensors that come again and again (docs/design/empty.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/longest_gaps.h"

namespace tautline::pipeline {

/// Stretches without a count below the first length are taken for a modulation of the light; those below the second may
/// be one, which bends the curves like stops.
inline constexpr double kShortestRepeatedStop_s = 0.001, kShortestCertainStop_s = 0.01;

/// Stretches that LongestGaps is to pass over for the rule; in bins or ticks of `unit_s`.
std::uint64_t least_gap(double unit_s);

/// Counts of all sensors together. Places are bins or ticks, of `unit_s` seconds.
struct CountsOfSteps {
  std::span<const double> counts;  ///< in steps of `step` from the first place on
  std::uint64_t step = 0;
  BinRange all;      ///< places
  BinRange counted;  ///< from the first count to behind the last one
  double unit_s = 0;
  std::size_t sensors = 1;
};

struct RepeatedStops {
  std::vector<BinRange> stops;  ///< in order
  /// No lone emitter that blinks, nor light that is modulated: they are not below kShortestCertainStop_s, and all of one
  /// length or too long without a dark count.
  bool certain = false;
  bool alike = false;  ///< ten or more of one length
};

/// Four stops or more among `gaps`, outside of `known` stops, and what is left of one where the run begins or ends; those
/// below kShortestCertainStop_s where there are no others.
RepeatedStops repeated_stops(const CountsOfSteps& run, const LongestGaps& gaps,
                             std::span<const BinRange> known);

/// Whether the lengths of `gaps`, outside of `known` stops and between the first count and the last, allow such stops:
/// without the counts, which may then be read.
bool may_be_repeated(const BinRange& counted, double unit_s, const LongestGaps& gaps,
                     std::span<const BinRange> known);

}  // namespace tautline::pipeline
