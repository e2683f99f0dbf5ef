// Times without light that are longer than the other dark times of a run explain (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

/// What the stops among dark times have to be.
struct StopLimits {
  std::size_t most = 0;        ///< number
  std::uint64_t shortest = 0;  ///< length of each
  std::uint64_t total = 0;     ///< length of all together, at most
};

/// The number of dark times at the front of `by_length`, the longest first, which the others do not explain, whatever
/// their mean: light of any kind that is forgotten fast has dark times with an exponential tail. Those shorter than
/// `least` are not in `by_length`.
std::size_t beyond_others(std::span<const BinRange> by_length, std::uint64_t least,
                          const StopLimits& limits);

}  // namespace tautline::pipeline
