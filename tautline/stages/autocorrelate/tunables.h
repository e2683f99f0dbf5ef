// Tunables of the autocorrelator, with ranges and defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::autocorrelate {

/// Of the CPU backend.
struct Tunables {
  /// Samples of a level that are multiplied together where lanes are sensors: a multiple of 64,
  /// from 64 to 4096. After each block the 32-bit sums are added to 64-bit sums, so short blocks
  /// cost additions. Long blocks exceed the first-level cache, and a state holds two per level.
  std::size_t block_samples = 256;

  /// The same where lanes are times: 1024 to 65,536. Every block ends with a sum over the lanes for
  /// each lag.
  std::size_t series_block_samples = 4096;

  /// With this many pairs or fewer, lanes are times: 0 to 16. (16 sensors fill the lanes.)
  std::size_t series_pairs = 4;

  friend constexpr bool operator==(const Tunables&, const Tunables&) = default;
};

enum class GpuDesign {
  portable,  ///< any device
  matrix,    ///< integer matrix units: CUDA, compute capability 8.0 and later, integer counts
};

/// Of the GPU backend.
struct GpuTunables {
  /// Devices without matrix units run the portable design.
  GpuDesign design = GpuDesign::matrix;
  /// Portable design: lags of a thread, 1 to 32. More lags share loads, and need registers.
  std::size_t lags = 16;
  /// Portable design: threads of a group, 16 to 256, a power of two.
  std::size_t threads = 64;
  /// Most rows of a level that one thread (portable) or one group (matrix) multiplies before it
  /// adds its partial sums to memory: 64 to 65,536. Fewer rows give more groups, more rows give
  /// fewer additions in memory.
  std::size_t part_rows = 8192;
  /// Samples (times) that are processed at all levels before the next ones, 64 to 1,048,576. The
  /// coarse series of short chunks stay in the second-level cache; long chunks amortise launches.
  std::size_t chunk_samples = 262144;
  /// Rows of a coarse level that are collected before they are multiplied, 1 to 4096: each level
  /// costs a launch.
  std::size_t pending_rows = 512;

  friend constexpr bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

}  // namespace tautline::stages::autocorrelate
