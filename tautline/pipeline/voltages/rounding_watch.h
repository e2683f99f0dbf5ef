// What rounding to few bits left of each input's samples.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/view.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/input_groups.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Adds up the autocorrelations of integrations, which bound the number of samples that became zero: a component that
/// did not adds a step^2 or more to them.
///
/// An input is named in a warning where
/// - 90 % of its components or more are zeros. Noise of an rms of 0.3 steps has as many, and its visibilities have 2.4
///   times the noise of those that were not rounded;
/// - more than 1 % of its components were clipped (of 4 bits 5 %, since 1.2 % of noise at the usual level are). Noise
///   has lost 2 % (9 %) of its power by then, and more of strong signals.
class RoundingWatch {
 public:
  RoundingWatch(int bits, std::vector<std::string> input_names)
      : bits_(bits), names_(std::move(input_names)), inputs_(names_.size()) {}

  /// The largest share of an input's components that may be clipped.
  static double most_clipped(int bits);

  /// Means of an integration and their counts, [channel][baseline], of these pairs (none: all), and the [channel][input]
  /// gains that were divided out of them. Runs on the threads of `host_queue`.
  void add(device::Queue& host_queue, const core::View<const std::complex<float>, 2>& means,
           const core::View<const std::int64_t, 2>& counts, std::span<const InputPair> pairs,
           std::span<const float> gains);

  /// The warning; empty where rounding did no harm. `clipped`: components of each input, of `components`.
  std::string text(const std::vector<std::uint64_t>& clipped, std::uint64_t components,
                   const Gains& gains) const;

 private:
  struct Input {
    double samples = 0;
    double zeros = 0;  ///< of the samples, at least: the mean over both components
    double power = 0;  ///< sum of |x|^2, in steps^2
  };
  double right_factor(const Input& input) const;

  int bits_;
  std::vector<std::string> names_;
  std::vector<Input> inputs_;
};

}  // namespace tautline::pipeline
