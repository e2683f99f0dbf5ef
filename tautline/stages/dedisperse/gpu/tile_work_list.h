// What a GPU does for a block of trials, as the lists of tile.kernel: which rows are staged where
// in local memory, which sums are made of them, and what trials add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// What the kernel is built with, and what it may use.
struct TileShape {
  std::size_t span = 256;     ///< entries of a tile's time, a multiple of 16
  std::size_t trials = 64;    ///< of a block
  std::size_t threads = 512;  ///< of a group
  bool bytes = true;          ///< rows of bytes: entries of four times, sums of two words
  std::size_t local_bytes = 48 << 10;
  std::size_t channels_in_sum = 257;
};

struct TileWorkList {
  std::size_t levels = 0;          ///< trials add groups of 2^levels rows
  std::size_t bundle_rows = 1;     ///< staged together
  std::size_t bundles_in_sum = 1;  ///< that sums can hold
  std::size_t local_bytes = 0;
  std::vector<std::uint32_t> staged, starts, ops, places;  ///< as tile.kernel has them
  double adds = 0;                                         ///< counted, for one time of all trials
  double cycles = 0;   ///< of a multiprocessor for a tile of all trials: relative, not a promise
  double dearest = 0;  ///< of those, the block's with most
};

/// The most levels that a program may have; 1 is none of them.
inline constexpr std::size_t kMostTileLevels = 6;

/// None when not even one group of rows fits local memory.
std::optional<TileWorkList> make_tile_work_list(const DelayPlan& plan, const TileShape& shape,
                                                std::size_t levels,
                                                const GpuCost& cost = kH200Cost);

}  // namespace tautline::stages::dedisperse
