// The kernel by which a GPU sums, as its work list: channel_blocks.cuda.kernel or tile.kernel, which stage rows in shared
// memory, or sum.kernel, which reads rows from device memory.
#pragma once

#include <cstddef>

#include "tautline/device/device.h"
#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/gpu/work_list.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// Of the rows: 1 or 2 of unsigned integers, or 4 of floats.
std::size_t gpu_element_bytes(const DelayPlan& plan);

/// The cheapest by counting, for the given tunables; the work list's tunables are these, or what the defaults come to
/// here.
GpuWorkList choose_sum_kernel(const DelayPlan& plan, const device::Device& device,
                              const GpuTunables& tunables, const GpuCost& cost = kH200Cost);

}  // namespace tautline::stages::dedisperse
