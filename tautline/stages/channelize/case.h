// Sizes, tolerance, operations and bytes of one problem: for tests and benchmarks.
#pragma once

#include <cmath>
#include <cstddef>

#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

struct Case {
  Config config;
  std::size_t spectra = 1;  ///< of each input

  /// Samples of each input for `spectra` spectra.
  std::size_t samples() const {
    return (spectra - 1) * config.hop_samples() + config.taps * config.frame_samples();
  }

  /// Largest difference of a float output from the reference, over the rms of the reference's
  /// output. The single-precision sum of T products and a transform of log2 M steps leave a
  /// relative rms error near 6e-8 sqrt(T / 4 + log2 M) (below 3e-7). The largest of 1e8 errors is 6
  /// times their rms, at a value of 6 times the rms amplitude; 1e-5 is about twice the largest
  /// error seen.
  static constexpr double kFloatTolerance = 1e-5;

  /// Fraction of requantised components that may differ from the reference, by one step, because
  /// the float error moves them over a rounding edge. With an rms of 20 steps and an error of 3e-7
  /// of it, 2 x 20 x 3e-7 = 1e-5 of the components do.
  static constexpr double kStepFraction = 1e-4;

  /// Useful floating-point operations of one spectrum: 2 T for each component, 5 N log2 N for the
  /// transform of N = C values (10 a channel more for the split step of real input).
  double operations() const {
    const auto channels = static_cast<double>(config.channels);
    const double components = 2 * channels;
    const double split = config.input.complex ? 0 : 10 * channels;
    return components * 2 * static_cast<double>(config.taps) + 5 * channels * std::log2(channels) +
           split;
  }

  /// Bytes of one spectrum that are read from or written to memory: hop samples and all channels.
  double bytes() const {
    const auto out = static_cast<double>(core::bytes_of(config.output_type()));
    return static_cast<double>(config.hop_samples()) * config.input.bits_per_sample() / 8 +
           static_cast<double>(config.channels) * out;
  }
};

}  // namespace tautline::stages::channelize
