// The interface between the plan for matrix units (cpu/amx/plan.cpp) and its kernels
// (cpu/amx/level_pairs-inl.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/stages/autocorrelate/cpu/amx/layout.h"
#include "tautline/stages/autocorrelate/cpu/kernels.h"

namespace tautline::stages::autocorrelate::cpu {

/// Samples for one group.
struct AmxInput {
  const std::uint8_t* rows = nullptr;  ///< at the group's first sensor
  std::ptrdiff_t row_stride = 0, sensor_stride = 1;
  std::size_t count = 0;    ///< rows
  std::size_t sensors = 0;  ///< up to 64; the others are zero
};

struct AmxKernels {
  const char* backend;
  const Kernels& tiles;  ///< for the levels after the pairs
  /// Scratch memory for each worker.
  std::size_t (*scratch_bytes)(const AmxLayout& layout);
  /// Adds samples to a group. `rows` is work memory of rows_bytes, or null to work in the group.
  void (*feed)(const AmxLayout& layout, const Kernels& tiles, std::byte* group, std::byte* scratch,
               std::byte* rows, const AmxInput& input);
  /// Multiplies the pending samples of all levels, after which a group can be read. A flushed group
  /// accepts no more samples.
  void (*flush)(const AmxLayout& layout, const Kernels& tiles, std::byte* group, std::byte* scratch,
                std::size_t sensors);
};

#if defined(__x86_64__)
const AmxKernels& amx_kernels();
#endif

}  // namespace tautline::stages::autocorrelate::cpu
