// What the kernels that sum cost a GPU, counted: how a plan chooses among them.
#pragma once

namespace tautline::stages::dedisperse {

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
  // sum.kernel.
  double adds_per_cycle;
  double wait_for_position;  ///< for the rows of each, however few groups there are
};

/// Fitted to an NVIDIA H200 (docs/performance/dedisperse.md): tile.kernel beside
/// channel_blocks.cuda.kernel on 17 problems, to choose alike; sum.kernel at 5.36 T adds/s, and
/// on 16 to 64 trials of LOFAR.
inline constexpr GpuCost kH200Cost{2,    1.7, 1.2, 3,     300, 190,  // tile.kernel
                                   2140, 14,  1.3, 10000,            // channel_blocks.cuda.kernel
                                   23,   950};                       // sum.kernel

}  // namespace tautline::stages::dedisperse
