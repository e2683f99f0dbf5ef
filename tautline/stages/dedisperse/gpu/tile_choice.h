// Which method a GPU sums by, and which delays.
#pragma once

#include <cstddef>
#include <optional>

#include "tautline/stages/dedisperse/gpu/tile_program.h"

namespace tautline::stages::dedisperse {

struct TileChoice {
  Delays delays;
  Choice choice;
  /// None where rows have to be read where they lie.
  std::optional<TileProgram> program;
};

/// config().method, or the cheapest for automatic. `levels`: of shared sums; 0: by counting.
TileChoice choose_tile(const Problem& problem, const TileShape& shape, std::size_t levels);

}  // namespace tautline::stages::dedisperse
