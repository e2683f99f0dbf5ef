// Every value of every tunable of the portable GPU kernel at least once, with limits of registers
// and spilled bytes.
#pragma once

#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::tests {

struct CoveringTunables {
  TiledTunables tunables;
  /// Most registers of a thread with NVRTC 13.0 on any architecture, plus 16, for integers and for
  /// floats: a change that takes more should be examined.
  std::size_t exact_registers, float_registers;
  /// Most bytes that the integer kernel spilled (only on Blackwell, where the largest register tile
  /// is slow); floats spill none.
  std::size_t exact_spilled_bytes = 0;
};

inline constexpr CoveringTunables kCovering[] = {
    {{1, 1, 8, 8, 32, 0, 4}, 48, 54},          {{1, 2, 16, 8, 64, 1, 8}, 72, 85},
    {{2, 1, 8, 16, 128, 2, 16}, 80, 86},       {{2, 2, 16, 16, 256, 1, 16}, 108, 111},
    {{4, 2, 8, 8, 128, 0, 16}, 88, 105},       {{4, 4, 8, 16, 64, 2, 4, false, 4}, 128, 128},
    {{4, 8, 8, 8, 32, 1, 16}, 226, 200},       {{8, 8, 16, 16, 32, 2, 16}, 255, 255, 256},
    {{4, 4, 8, 8, 128, 2, 16, true}, 180, 180}};

}  // namespace tautline::stages::correlate::tests
