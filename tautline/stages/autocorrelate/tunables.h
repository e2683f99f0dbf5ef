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

  /// Pairs of levels that matrix units (AMX) take, 0 to 4, where they can: see cpu/amx/front.h.
  std::size_t front_pairs = 3;

  /// Rows of the first pair, and of each later one, that matrix units multiply at a time: multiples
  /// of 1024 up to 16,384; four of the second are a multiple of the first. Each block ends with the
  /// sum of the diagonals of its products.
  std::size_t front_samples = 4096;
  std::size_t front_later_samples = 2048;

  friend constexpr bool operator==(const Tunables&, const Tunables&) = default;
};

}  // namespace tautline::stages::autocorrelate
