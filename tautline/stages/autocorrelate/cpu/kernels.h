// The interface between the CPU plan (cpu/plan.cpp) and the kernels of one instruction set
// (cpu/tile-inl.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/cpu/layout.h"

namespace tautline::stages::autocorrelate::cpu {

/// Samples for one tile.
struct Input {
  const void* rows = nullptr;
  std::ptrdiff_t row_stride = 0;     ///< in samples
  std::ptrdiff_t sensor_stride = 1;  ///< in samples
  std::size_t count = 0;             ///< rows
  const std::uint32_t* a = nullptr;  ///< sensor of each lane
  const std::uint32_t* b = nullptr;
  bool neighbours = false;  ///< a is 16 consecutive sensors, and so is b
};

/// Rows of 64 consecutive sensors' bytes for four tiles.
struct InterleavedInput {
  const std::uint8_t* rows = nullptr;
  std::ptrdiff_t row_stride = 0;
  std::size_t count = 0;  ///< rows
  /// The first row after these in the next tiles' input, with the same stride, to be prefetched.
  const std::uint8_t* next = nullptr;
};

/// Rows of 16-bit samples as planes of low and high bytes, a row every 64 bytes.
struct Planes {
  const std::uint8_t *direct_low = nullptr, *direct_high = nullptr;
  const std::uint8_t *delayed_low = nullptr, *delayed_high = nullptr;
  std::size_t count = 0;
};

/// The code of one instruction set.
struct Kernels {
  const char* backend;
  bool bytes;  ///< multiplies bytes without widening them
  /// Adds samples to a tile.
  void (*feed)(const Layout& layout, std::byte* tile, std::byte* scratch, const Input& input);
  /// Multiplies the pending samples of all levels, after which a tile can be read. A flushed tile
  /// accepts no more samples.
  void (*flush)(const Layout& layout, std::byte* tile, std::byte* scratch);
  /// Adds samples of the layout's first level to a tile of 16 neighbours: 16 bytes of each row.
  void (*feed_planes)(const Layout& layout, std::byte* tile, std::byte* scratch,
                      const Planes& planes);
  /// Writes `size` floats, f32 or f64, as counts, u8 or u16. Returns false where one of them is no whole number from 0
  /// to the largest count.
  bool (*as_counts)(SampleType floats, const void* from, std::size_t size, SampleType counts,
                    void* to);
  /// Adds bytes to four tiles whose lanes hold the sensors of interleaved_sensor(), each sensor
  /// paired with itself. Null where the instruction set has no such kernel.
  void (*feed_interleaved)(const Layout& layout, std::byte* tiles, std::byte* scratch,
                           const InterleavedInput& input) = nullptr;
};

/// Highway code of `set` (portable, avx2 or avx512), or null where this build has none.
const Kernels* simd_kernels(device::InstructionSet set);
#if defined(__x86_64__)
const Kernels& vnni_kernels();
#endif

/// Throws Error(unsupported) when the device forces a set without code.
const Kernels& choose_kernels(const device::Device& device);

}  // namespace tautline::stages::autocorrelate::cpu
