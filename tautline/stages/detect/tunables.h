// What may be tuned in detect, with its range and the reason for its default.
#pragma once

#include <cstddef>

namespace tautline::stages::detect {

struct GpuTunables {
  /// Threads that measure one block's noise; a power of two, 64 to 1,024.
  std::size_t threads = 512;
  /// Boxcars of each width that a group compares; 256 x a power of two to 4,096.
  std::size_t tile = 4096;
  /// Peaks that a step's buffer holds at least; more are fetched block by block. A million is 16
  /// MB.
  std::size_t records = std::size_t{1} << 20;
  /// Least width whose boxcars are compared eight at once; 0: where noise hardly ever makes eight
  /// look like one over the threshold.
  std::size_t coarse = 0;
  /// Bytes of running sums that wait for comparison at once, one block's at least.
  std::size_t sums_bytes = std::size_t{512} << 20;

  friend bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

struct Tunables {
  /// Trials that one task works on at least; 1 to 64. A trial of a block is tens of microseconds at
  /// least, so single ones are handed out.
  std::size_t task_trials = 1;
  GpuTunables gpu = {};
};

}  // namespace tautline::stages::detect
