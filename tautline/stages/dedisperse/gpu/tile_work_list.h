// The work list of tile.kernel: for each block of trials and each bundle of rows, which rows are staged where in shared
// memory, which partial sums are made of them, and what trials add.
#pragma once

#include <cstddef>
#include <optional>

#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/gpu/work_list.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// The most levels that a program may have; 1 is none of them.
inline constexpr std::size_t kMostTileLevels = 6;

/// Trials add groups of 2^levels rows. The span is a multiple of 16. None when not even one group of rows fits shared
/// memory. The lists are `staged`, `starts`, `ops` and `places` of tile.kernel; the numbers are rows, rows of a bundle,
/// and bundles that partial sums of 16 bits can hold.
std::optional<GpuWorkList> make_tile_work_list(const DelayPlan& plan, const GroupShape& shape,
                                               std::size_t levels, const GpuCost& cost = kH200Cost);

}  // namespace tautline::stages::dedisperse
