// What may be tuned in detect, with its range and the reason for its default.
#pragma once

#include <cstddef>

namespace tautline::stages::detect {

struct Tunables {
  /// Trials that one task works on at least; 1 to 64. A trial of a block is tens of microseconds at
  /// least, so single ones are handed out.
  std::size_t task_trials = 1;
};

}  // namespace tautline::stages::detect
