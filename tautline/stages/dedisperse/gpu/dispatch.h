// Which kernel a GPU sums by, in groups of which shape, with which lists: channel_blocks.cuda.kernel or
// tile.kernel from shared memory, or sum.kernel from device memory.
#pragma once

#include <cstddef>
#include <optional>

#include "tautline/device/device.h"
#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/gpu/hopper/channel_block_work_list.h"
#include "tautline/stages/dedisperse/gpu/tile_work_list.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

struct SumKernel {
  GpuTunables tunables;  ///< those that were given, or what the defaults come to here
  MethodChoice choice;
  std::optional<TileWorkList> tile;  ///< of tile.kernel
  std::optional<ChannelBlockWorkList>
      channel_blocks;  ///< of channel_blocks.cuda.kernel; neither: sum.kernel
  std::size_t tile_times = 0;

  std::size_t tile_trials() const { return tunables.items_dm * tunables.elements_dm; }
  std::size_t group_threads() const {
    return tunables.items_time * tunables.items_dm +
           (channel_blocks ? kWarpThreads * (kProducerWarps + kFetchWarps) : 0);
  }
};

/// Of the rows: 1 or 2 of unsigned integers, or 4 of floats.
std::size_t gpu_element_bytes(const DelayPlan& plan);

SumKernel choose_sum_kernel(const DelayPlan& plan, const device::Device& device,
                            const GpuTunables& tunables, const GpuCost& cost = kH200Cost);

}  // namespace tautline::stages::dedisperse
