// What may be changed without changing any sum of integers, with ranges and the reasons for
// defaults.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

struct Tunables {
  /// Times of a tile, a multiple of 512 up to 65,536; 0: by counting. Long tiles waste less on what
  /// trials need beyond their tile, short ones leave more shared sums in cache.
  std::size_t time_tile = 0;
  /// Trials of a block, 1 to 65,536; 0: by counting. Sums are shared inside a block.
  std::size_t block_trials = 0;
  /// Of the tree of shared sums, 1 to 10: trials add groups of 2^levels channels; 0: by counting.
  std::size_t levels = 0;
  /// Bytes of input that a bundle of channels may read for a block of trials, without sharing: most
  /// of a 48 KiB first-level cache. 4 KiB or more.
  std::size_t near_bytes = 36 << 10;
  /// Bytes of shared sums that a bundle of groups may make: half of a 1 MiB second-level cache; the
  /// rest is for the trials. 4 KiB or more.
  std::size_t scratch_bytes = 512 << 10;

  friend bool operator==(const Tunables&, const Tunables&) = default;
};

/// make_plan with values other than the defaults: tuning and tests. Throws Error(config).
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::dedisperse
