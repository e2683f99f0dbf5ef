// Tunables of the corner turn, with ranges and the reasons for the defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::corner_turn {

struct Tunables {
  /// Fewest tiles (64 spectra x 64 channels of one input) of one task; 1 to 64. A tile is 32 KiB of
  /// floats and takes a few microseconds: with fewer than eight, the cost of tasks is measurable.
  std::size_t task_tiles = 8;
};

}  // namespace tautline::stages::corner_turn
