// Inside of the GPU autocorrelator: what is enqueued for rows of counts and for reading.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/gpu/programs.h"
#include "tautline/stages/autocorrelate/gpu/state.h"

namespace tautline::stages::autocorrelate::gpu {

/// New rows of counts in device memory; a row holds all sensors, up to the next 16 bytes.
struct Rows {
  const void* data = nullptr;
  std::size_t pitch_bytes = 0;
  std::size_t count = 0;  ///< at most a chunk
};

/// Takes rows into the state: totals, coarse series, products, kept rows.
void enqueue_rows(device::Queue& queue, const Programs& programs, GpuState& state,
                  const Rows& rows);
/// Multiplies what waits.
void enqueue_waiting(device::Queue& queue, const Programs& programs, const GpuState& state);
/// Writes [4][count][lags] of pairs from `first` on to state.out.
void enqueue_read(device::Queue& queue, const Programs& programs, const GpuState& state,
                  std::size_t first, std::size_t count);

}  // namespace tautline::stages::autocorrelate::gpu
