// What can be tuned in the autocorrelator, with ranges and defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::autocorrelate {

/// Of the CPU autocorrelator.
struct Tunables {
  /// Samples of a level that are multiplied at a time when lanes are sensors: a multiple of 64,
  /// from 64 to 4096. The 32-bit sums are added to 64-bit ones after each block, so short blocks
  /// cost additions; long ones leave the first-level cache, and a state holds two blocks a level.
  std::size_t block_samples = 256;

  /// The same for few sensors, when lanes are times: 1024 to 65,536. Every block ends with the sum
  /// over the lanes of each lag.
  std::size_t series_block_samples = 4096;

  /// Up to this many pairs the lanes are times, 0 to 16: 16 sensors fill the lanes by themselves.
  std::size_t series_pairs = 4;

  friend constexpr bool operator==(const Tunables&, const Tunables&) = default;
};

}  // namespace tautline::stages::autocorrelate
