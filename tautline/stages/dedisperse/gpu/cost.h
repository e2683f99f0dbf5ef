// What the kernels that sum cost a GPU, counted: how a plan chooses among them.
#pragma once

#include <array>
#include <cstddef>

#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// A size that channel_blocks.cuda.kernel is tried with.
struct ChannelBlockSize {
  std::size_t channels, elements_dm;
};

/// Cycles of a multiprocessor: relative, not a promise. They decide time, never results.
struct GpuCost {
  // tile.kernel, for each 32 words that local memory moves.
  double stage;       ///< of rows
  double add_bytes;   ///< that trials add: held up by the arithmetic
  double add_sums;    ///< shared sums, and other rows
  double make_sums;   ///< shared sums: held up by the latency of short loops
  double barrier;     ///< for each
  double staged_row;  ///< beyond that, beside channel_blocks.cuda.kernel
  // channel_blocks.cuda.kernel.
  double channel_block;    ///< for each
  double columns;          ///< that a producer warp reads
  double tile_of_columns;  ///< products of a tile with them
  double fill;             ///< of a group, until its first sums are made and after the last
  /// In this order: of those with as many channels the first is taken that shared memory has space for.
  std::array<ChannelBlockSize, 4> channel_blocks;
  // sum.kernel.
  double adds_per_cycle;
  double wait_for_position;  ///< for the rows of each, however few groups there are
  GpuTunables sum_tunables;  ///< by default: few threads with many trials each
};

/// Fitted to an NVIDIA H200 (docs/performance/dedisperse.md): tile.kernel beside
/// channel_blocks.cuda.kernel on 17 problems, to choose alike; sum.kernel at 5.36 T adds/s, and
/// on 16 to 64 trials of LOFAR; sizes of channel blocks, the fastest first.
inline constexpr GpuCost kH200Cost{
    .stage = 2,
    .add_bytes = 1.7,
    .add_sums = 1.2,
    .make_sums = 3,
    .barrier = 300,
    .staged_row = 190,
    .channel_block = 2140,
    .columns = 14,
    .tile_of_columns = 1.3,
    .fill = 10000,
    .channel_blocks = {{{16, 16}, {16, 14}, {16, 12}, {8, 16}}},
    .adds_per_cycle = 23,
    .wait_for_position = 950,
    .sum_tunables = {.items_dm = 4, .elements_time = 2, .elements_dm = 8, .local_kib = 0}};

}  // namespace tautline::stages::dedisperse
