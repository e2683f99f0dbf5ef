// Sizes, data, tolerance, operations and bytes of detect's cases: for tests and the benchmark.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tautline/stages/detect/detect.h"

namespace tautline::stages::detect {

struct Case {
  Config config;
  std::size_t samples = 65536;

  /// All backends give the same bits: integers are summed exactly, floats in the order of the
  /// definition, and no other float operations are reassociated or fused.
  static constexpr double kTolerance = 0;

  /// A subtraction and a comparison for each boxcar. The other steps are a few operations a sample.
  double operations() const {
    const auto widest = static_cast<std::size_t>(config.max_width_s / config.sample_time_s + 1e-6);
    return 2.0 * static_cast<double>(config.trials * samples) *
           static_cast<double>(boxcar_widths(widest).size());
  }
  /// Bytes of the series, read once.
  double bytes() const { return 4.0 * static_cast<double>(config.trials * samples); }
};

/// A pulse to be added to a series: Gaussian, `width_samples` wide at half maximum, with
/// snr = sqrt(sum of p^2) / sigma and its centre at `time` (the middle of sample 0 is 0).
struct TruePulse {
  double time = 0, width_samples = 1, snr = 10;
};

inline void add_pulse(std::vector<double>& series, const TruePulse& pulse, double sigma) {
  const double s = pulse.width_samples / 2.354820045;
  std::vector<double> shape;
  const auto first = static_cast<std::ptrdiff_t>(std::floor(pulse.time - 5 * s - 1));
  const auto last = static_cast<std::ptrdiff_t>(std::ceil(pulse.time + 5 * s + 1));
  double power = 0;
  for (std::ptrdiff_t t = first; t <= last; ++t) {
    const double x = (static_cast<double>(t) - pulse.time) / s;
    shape.push_back(std::exp(-x * x / 2));
    power += shape.back() * shape.back();
  }
  for (std::ptrdiff_t t = first; t <= last; ++t)
    if (t >= 0 && t < static_cast<std::ptrdiff_t>(series.size()))
      series[static_cast<std::size_t>(t)] +=
          shape[static_cast<std::size_t>(t - first)] * sigma * pulse.snr / std::sqrt(power);
}

}  // namespace tautline::stages::detect
