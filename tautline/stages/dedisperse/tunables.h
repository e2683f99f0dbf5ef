// What may be changed without changing any sum of integers, with ranges and the reasons for
// defaults.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

/// Of the GPU kernels: the dedispersion paper's four, and how rows are staged. A tile of a group is
/// items_time x elements_time x 4 times (of bytes; x 1 otherwise) by items_dm x elements_dm trials.
/// Where all are as they are here, a plan takes others where it knows better: channel blocks on
/// compute capability 9.0, longer tiles of floats, shorter ones of trials far apart or where long
/// ones would leave multiprocessors without work.
struct GpuTunables {
  std::size_t items_time = 64;    ///< threads along time: 16, 32, 64, 128 or 256
  std::size_t items_dm = 16;      ///< threads along trials: 1, 2, 4, 8 or 16; 1,024 threads at most
  std::size_t elements_time = 4;  ///< of a thread along time: 1, 2, 4 or 8
  std::size_t elements_dm = 4;    ///< of a thread along trials: 1, 2, 4, 8 or 16
  /// Shared memory (OpenCL: local memory) that a group may take, KiB, up to 256, or less where the
  /// device has less. More means fewer barriers, less leaves room for more groups. 0: rows are read
  /// directly from device memory, as where the delays of a tile's trials are too far apart.
  std::size_t local_kib = 256;
  /// That the registers of a multiprocessor must have room for: 1 to 4, of which tuning tries 1
  /// to 3.
  std::size_t groups = 1;
  /// Of shared sums: trials add groups of 2^levels channels, 2 to 6, of which tuning tries 2 to 5;
  /// 0: by counting.
  std::size_t levels = 0;

  friend bool operator==(const GpuTunables&, const GpuTunables&) = default;
};

struct Tunables {
  /// Times of a tile, a multiple of 512 up to 65,536; 0: by counting. Long tiles waste less on what
  /// trials need beyond their tile, short ones leave more shared sums in cache.
  std::size_t time_tile = 0;
  /// Trials of a block, 1 to 65,536; 0: by counting. Sums are shared inside a block.
  std::size_t block_trials = 0;
  /// Of the tree of shared sums, 1 to 10: trials add groups of 2^levels channels; 0: by counting.
  std::size_t levels = 0;
  /// Bytes of input that a bundle of channels may read for a block of trials, without sharing: a
  /// third of a 48 KiB first-level cache (measured: docs/performance/dedisperse.md). 4 KiB or more.
  std::size_t near_bytes = 16 << 10;
  /// Bytes of shared sums that a bundle of groups may make: half of a 1 MiB second-level cache; the
  /// rest is for the trials. 4 KiB or more.
  std::size_t scratch_bytes = 512 << 10;

  /// Trials of a call that take as many bytes are written past the caches, most of which they would
  /// fill: stores into caches read what they overwrite first. Smaller ones are there for who reads
  /// them next.
  std::size_t streamed_bytes = 32 << 20;

  GpuTunables gpu = {};  ///< of devices that compile
  /// Of zero-DM on those: different delays of a trial that are added up; trials with more take a
  /// transform, whose rounding error grows with the number of channels of one delay.
  std::size_t most_delays_added = 128;
};

/// make_plan with values other than the defaults: tuning and tests. Throws Error(config).
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::dedisperse
