// Groups of neighbouring inputs that are correlated separately, where not every pair is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tautline/core/baseline.h"

namespace tautline::pipeline {

/// Groups of equally many neighbouring inputs, each correlated by itself. Sums are then [group x channel][baseline of
/// the group]: the triangles of one group's channels, then those of the next group. One group: every pair.
struct InputGroups {
  std::size_t inputs = 0, size = 0;  ///< of all groups, of one

  std::size_t count() const { return (inputs + size - 1) / size; }
  /// The first input of a group. The last group overlaps the preceding one, unless the size divides the number of
  /// inputs.
  std::size_t first(std::size_t group) const { return std::min(group * size, inputs - size); }

  /// The place of a baseline.
  struct Place {
    std::size_t group = 0, baseline = 0;
  };
  /// The place of inputs i >= j that are both in one group.
  Place place(std::size_t i, std::size_t j) const {
    const std::size_t group = j / size, from = first(group);
    return {group, core::baseline_index(i - from, j - from)};
  }
};

/// The inputs of a baseline of the packed lower triangle: i >= j.
struct InputPair {
  std::size_t i = 0, j = 0;
};

/// The places of ascending baselines.
inline std::vector<InputPair> pairs_of(std::span<const std::size_t> baselines) {
  std::vector<InputPair> pairs;
  std::size_t i = 0;
  for (const std::size_t baseline : baselines) {
    while (core::baseline_index(i + 1, 0) <= baseline) ++i;
    pairs.push_back({i, baseline - core::baseline_index(i, 0)});
  }
  return pairs;
}

/// Groups of `size` inputs, if there are several and they cover all of `baselines` (ascending, of the packed lower
/// triangle); else one group. No baselines: one group.
inline InputGroups choose_groups(std::size_t inputs, std::span<const std::size_t> baselines,
                                 std::size_t size) {
  const InputGroups all{inputs, inputs}, groups{inputs, size};
  if (baselines.empty() || inputs <= size) return all;
  for (const auto& [i, j] : pairs_of(baselines))
    if (i >= groups.first(j / size) + size) return all;
  return groups;
}

}  // namespace tautline::pipeline
