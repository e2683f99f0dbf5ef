// Enqueues the GPU autocorrelator's work for rows of counts and for `read`.
#pragma once

#include <cstddef>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/gpu/kernels.h"
#include "tautline/stages/autocorrelate/gpu/state.h"

namespace tautline::stages::autocorrelate::gpu {

/// New rows of counts in device memory; a row has all sensors, padded to a multiple of 16 bytes.
struct Rows {
  const void* data = nullptr;
  std::size_t pitch_bytes = 0;
  std::size_t count = 0;  ///< GpuLayout::chunk or fewer
};

/// Adds rows to the state: totals, coarse series, products, kept rows.
void enqueue_rows(device::Queue& queue, const GpuKernels& kernels, GpuState& state,
                  const Rows& rows);
/// Multiplies the pending rows of all levels.
void enqueue_flush(device::Queue& queue, const GpuKernels& kernels, const GpuState& state);
/// Writes the [4][count][lags] outputs of the pairs from `first` on to state.out.
void enqueue_read(device::Queue& queue, const GpuKernels& kernels, const GpuState& state,
                  std::size_t first, std::size_t count);

}  // namespace tautline::stages::autocorrelate::gpu
