// Sizes, tolerance, operations and bytes of the autocorrelator's cases: for tests and the
// benchmark.
#pragma once

#include <cstddef>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// Integer sums equal the reference bit for bit, and so do sums of floats, which every backend adds
/// in the reference's order in double. The monitors of floats are differences of totals, and may
/// differ from sums over the pairs by rounding: a test accepts this relative to the total of
/// magnitudes. 2^-53 times a few thousand additions of one sign stays below it.
inline constexpr double kFloatMonitorTolerance = 1e-11;

/// Sensors at which backends are compared with the reference: one, odd ones, beside multiples of
/// the 16 lanes, a large array, and one beside it.
inline constexpr std::size_t kTestSensors[] = {1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 1024, 1249};

/// A measured problem.
struct Case {
  const char* name;
  Config config;
  std::size_t samples;  ///< of each sensor

  double operations() const {
    return 2 * operations_per_sample(config) * static_cast<double>(config.pair_count() * samples);
  }
  double bytes() const {
    const std::size_t size = config.type == CountType::u8    ? 1
                             : config.type == CountType::u16 ? 2
                                                             : 4;
    return static_cast<double>(config.sensors * samples * size);
  }
};

/// The array of the multi-tau paper: 1,024 sensors, 10 groups of 32.
inline const Case kArray{"1,024 sensors", {.sensors = 1024, .max_samples = 8192}, 65536};
/// One detector, ten million samples.
inline const Case kDetector{
    "1 sensor", {.sensors = 1, .ladder = Ladder::standard, .bins = 16, .levels = 17}, 10'000'000};

}  // namespace tautline::stages::autocorrelate
