// What can be tuned in the autocorrelator's GPU code, with ranges and defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::autocorrelate {

enum class GpuDesign {
  portable,  ///< any device: products one by one
  matrix,    ///< integer matrix units; CUDA, compute capability 8.0 and later, counts of integers
};

struct GpuTunables {
  GpuDesign design = GpuDesign::matrix;  ///< portable where there is no other
  /// Lags of a thread of the portable code: 1 to 32. More of them share loads, and take registers.
  std::size_t lags = 16;
  /// Threads of a group of the portable code: 16 to 256, a power of two.
  std::size_t threads = 64;
  /// Most rows of a level whose products one thread, or one group of the matrix code, adds up
  /// before it adds to the sums in memory: 64 to 65,536. Few make many groups, many make few
  /// additions.
  std::size_t part_rows = 8192;
  /// Samples (times) that go through all levels at a time, 64 to 1,048,576. The series of the
  /// coarse levels wait in memory in between: few stay in the second-level cache, many hide
  /// launches.
  std::size_t chunk_samples = 262144;
  /// Rows of a coarse level that wait until they are multiplied, 1 to 4096: each level costs a
  /// launch.
  std::size_t pending_rows = 512;

  friend constexpr bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

}  // namespace tautline::stages::autocorrelate
