// Tunables of detect, with ranges and reasons for the defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::detect {

struct GpuTunables {
  /// Threads of a group that measures one block's noise: a power of two, 64 to 1,024.
  std::size_t threads = 512;
  /// Boxcars of each width that a group compares with the threshold: 256 x a power of two, to
  /// 4,096.
  std::size_t tile = 4096;
  /// Least runs of peaks that a step's buffer holds. More than that are fetched in parts, by
  /// searching the blocks again. A million runs are 40 MB.
  std::size_t records = std::size_t{1} << 20;
  /// Least width whose boxcars are compared eight at a time; 0: the width from which noise hardly
  /// ever lifts the common bound of eight boxcars over the threshold.
  std::size_t coarse = 0;
  /// Bytes of the running sums that one launch compares; at least those of one block.
  std::size_t sums_bytes = std::size_t{512} << 20;

  friend bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

struct Tunables {
  /// Least trials of a task, 1 to 64. A block of one trial takes tens of microseconds or more, so
  /// single trials are large enough tasks.
  std::size_t task_trials = 1;
  GpuTunables gpu = {};
};

}  // namespace tautline::stages::detect
