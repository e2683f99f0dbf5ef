// Elapsed time of the host's steady clock.
#pragma once

#include <chrono>

namespace tautline::core {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace tautline::core
