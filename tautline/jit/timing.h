// Measures how long a candidate takes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace tautline::jit {

struct Timing {
  double seconds = 0;  ///< of one run: median
  double spread = 0;   ///< (upper - lower quartile) / median
  std::size_t samples = 0;
};

/// `run(times)` gives the seconds of `times` runs. Short runs are repeated so that a sample takes a
/// millisecond at least; seven samples are taken, fewer when they add up to half a second. When the
/// first run takes longer than `hurry_over_s` (0: never), only one more is taken.
Timing time_runs(const std::function<double(std::size_t times)>& run, double hurry_over_s = 0);

/// Median and relative quartile distance. `samples` must not be empty.
Timing summarise(std::vector<double> samples);

}  // namespace tautline::jit
