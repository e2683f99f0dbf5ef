// What may be tuned in corner_turn, with its range and the reason for its default.
#pragma once

#include <cstddef>

namespace tautline::stages::corner_turn {

struct Tunables {
  /// Tiles (64 spectra x 64 channels of one input) that one task turns at least; 1 to 64. A tile is
  /// 32 KiB of floats, a few microseconds: less than eight and handing out tasks shows.
  std::size_t task_tiles = 8;
};

}  // namespace tautline::stages::corner_turn
