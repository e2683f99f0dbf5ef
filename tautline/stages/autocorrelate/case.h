// Sizes, tolerance, operations and bytes of the autocorrelator's cases: for tests and the
// benchmark.
#pragma once

#include <cstddef>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// Sums equal the reference bit for bit: integers, and floats, which every backend adds in double
/// in the reference's order. The monitors of floats are differences of totals and differ from sums
/// over the pairs by rounding. Tests accept this error relative to the total of magnitudes; a few
/// thousand additions of one sign at 2^-53 each stay below it.
inline constexpr double kFloatMonitorTolerance = 1e-11;

/// Numbers of sensors for comparisons with the reference: 1, small and odd numbers, multiples of
/// the 16 lanes and their neighbours, a large array, and an odd large array.
inline constexpr std::size_t kTestSensors[] = {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 1024, 1249};

/// A measured problem.
struct Case {
  Config config;
  std::size_t samples;  ///< of each sensor

  double operations() const {
    return 2 * operations_per_sample(config) * static_cast<double>(config.pair_count() * samples);
  }
  double bytes() const {
    return static_cast<double>(config.sensors * samples * core::bytes_of(config.type));
  }
};

}  // namespace tautline::stages::autocorrelate
