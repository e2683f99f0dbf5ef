// Groups of neighbouring inputs that are correlated separately, where not every pair is asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tautline/core/baseline.h"

namespace tautline::pipeline {

/// Groups of equally many neighbouring inputs that are correlated by themselves. Sums are then [group x channel][baseline
/// of the group]: the triangles of each group's channels behind those of the group before it. One group: every pair.
struct InputGroups {
  std::size_t inputs = 0, size = 0;  ///< of all groups, of one

  std::size_t count() const { return (inputs + size - 1) / size; }
  /// The first input of a group. The last group overlaps the one before it, unless the size divides the inputs.
  std::size_t first(std::size_t group) const { return std::min(group * size, inputs - size); }

  /// Where a baseline is.
  struct Place {
    std::size_t group = 0, baseline = 0;
  };
  /// Of inputs i >= j that a group has both of.
  Place place(std::size_t i, std::size_t j) const {
    const std::size_t group = j / size, from = first(group);
    return {group, core::baseline_index(i - from, j - from)};
  }
};

/// The inputs of a baseline of the packed lower triangle: i >= j.
struct InputPair {
  std::size_t i = 0, j = 0;
};

/// Of ascending baselines.
inline std::vector<InputPair> pairs_of(std::span<const std::size_t> baselines) {
  std::vector<InputPair> pairs;
  std::size_t i = 0;
  for (const std::size_t baseline : baselines) {
    while (core::baseline_index(i + 1, 0) <= baseline) ++i;
    pairs.push_back({i, baseline - core::baseline_index(i, 0)});
  }
  return pairs;
}

/// Groups of `size` inputs, where these have all of `baselines` (ascending, of the packed lower triangle) and are
/// several; else one group. No baselines: one group.
inline InputGroups choose_groups(std::size_t inputs, std::span<const std::size_t> baselines,
                                 std::size_t size) {
  const InputGroups all{inputs, inputs}, groups{inputs, size};
  if (baselines.empty() || inputs <= size) return all;
  for (const auto& [i, j] : pairs_of(baselines))
    if (i >= groups.first(j / size) + size) return all;
  return groups;
}

}  // namespace tautline::pipeline
