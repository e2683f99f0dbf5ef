// What the kernels that sum cost a GPU, counted: how a plan chooses among them.
#pragma once

#include <cstddef>

#include "tautline/device/device.h"
#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// Cycles of a multiprocessor: relative, not a promise. They decide time, never results.
struct GpuCost {
  // tile.kernel, for each 32 words that local memory moves.
  double stage;       ///< of rows
  double add_bytes;   ///< that trials add: held up by the arithmetic
  double add_sums;    ///< shared sums, and other rows
  double make_sums;   ///< shared sums: held up by the latency of short loops
  double barrier;     ///< for each
  double tiles;       ///< times what is counted, beside channel_blocks.kernel
  double staged_row;  ///< beyond that, beside channel_blocks.kernel
  // channel_blocks.kernel.
  double channel_block;  ///< for each
  double columns;  ///< of rows that a producer warp reads, each time that it makes tiles_at_once
  double tile_of_columns;  ///< products of a tile with them
  std::size_t tiles_at_once;
  double fill_channel_blocks;  ///< of a group, until its first sums are made and after the last
  // sum.kernel.
  double adds_per_cycle;
  double wait_for_position;  ///< for the rows of each, however few groups there are
};

/// Fitted to an NVIDIA H200 (docs/performance/dedisperse.md): tile.kernel beside
/// channel_blocks.kernel on 17 problems, within 15 % but for one; sum.kernel at 5.36 T adds/s, and
/// on 16 to 64 trials of LOFAR.
inline constexpr GpuCost kH200Cost{.stage = 2,
                                   .add_bytes = 1.7,
                                   .add_sums = 1.2,
                                   .make_sums = 3,
                                   .barrier = 300,
                                   .tiles = 0.83,
                                   .staged_row = 190,
                                   .channel_block = 2140,
                                   .columns = 14,
                                   .tile_of_columns = 1.3,
                                   .tiles_at_once = 5,
                                   .fill_channel_blocks = 10000,
                                   .adds_per_cycle = 23,
                                   .wait_for_position = 950};

/// A kernel's groups: of so many trials and times each. `cycles` of one tile of all trials,
/// `dearest` of those in the block that takes most.
struct CountedGroups {
  std::size_t trials, times;
  double cycles, dearest;
};

/// Cycles of a call of plan.max_new_samples() on all multiprocessors.
class CallCost {
 public:
  /// `element_bytes` of the rows.
  CallCost(const DelayPlan& plan, const device::Device& device, std::size_t element_bytes,
           const GpuCost& cost);

  double tiles(const CountedGroups& groups) const;
  /// The same as it compares with channel blocks().
  double tiles_beside_channel_blocks(const CountedGroups& groups) const;
  double channel_blocks(const CountedGroups& groups) const;
  /// sum.kernel in blocks of so many trials.
  double where_rows_lie(std::size_t block_trials) const;

 private:
  double blocks(std::size_t trials) const;
  double of_call(double cycles, double dearest, std::size_t tile_times) const;

  const GpuCost& cost_;
  std::size_t trials_;
  double positions_, times_, multiprocessors_;
  bool sees_idle_;
};

}  // namespace tautline::stages::dedisperse
