// Gains that bring each channel and input to a given rms before it is rounded to few bits.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/view.h"
#include "tautline/device/device.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::pipeline {

/// Spectra over which gains are measured before they are fixed (all of them, if fewer).
inline constexpr std::uint64_t kGainSpectra = 1024;
/// The target rms of a component, in steps.
double rms_before_rounding(stages::channelize::Output output);

/// Gains that the user chose: "0.5", for all channels and inputs, or a numpy file, [channel][input] of floats. Throws
/// core::Error of the field `gains` for another text, numbers that are not above zero, and a file of another shape.
std::vector<float> read_gains(const std::string& text, std::size_t channels, std::size_t inputs);

/// Periods of kGainSpectra spectra that are searched for inputs that are invalid at first, where others are valid.
inline constexpr std::uint64_t kMostGainPeriods = 16;

/// Mean |y|^2 of each channel and input over valid spectra, summed one after the other in double, so that any split of
/// the spectra into calls gives the same bits. Of the runs of 16 valid spectra up to two do not count, those of more than
/// 100 times the power of all others: a single enormous sample, which is in as many spectra as the filter has taps, must
/// not set the gain.
class PowerMeter {
 public:
  PowerMeter(std::size_t inputs, std::size_t channels);
  static std::size_t bytes(std::size_t inputs, std::size_t channels) {
    return inputs * (4 * channels * sizeof(double) + sizeof(std::uint64_t) + 1);
  }

  /// spectra: [input][spectrum][channel]; the first `count` of them are added.
  void add(device::Queue& queue, const core::View<const std::complex<float>, 3>& spectra,
           const core::ValidityView& validity, std::size_t count);

  /// Inputs that have had valid spectra ignore further ones.
  void hold();
  /// Whether every input has had a valid spectrum.
  bool every_input() const;
  bool any_input() const;

  /// [channel][input] gains, rounded to float, that bring the rms of a component to `target` steps; where there is no
  /// power, those of `otherwise`. Without these an input that had no valid spectrum gets the median of the others in each
  /// channel, and what has no power 1.
  std::vector<float> gains(double target, const std::vector<float>& otherwise = {}) const;
  /// Returns to the state before the first spectrum.
  void clear();

 private:
  void end_run(std::size_t input);
  double mean_power(std::size_t input, std::size_t channel) const;

  std::size_t inputs_, channels_;
  // Sums, [input][channel]: of all complete runs but the two largest ones, of those, and of the last run so far.
  std::vector<double> power_, largest_, second_, run_;
  std::vector<std::uint64_t> spectra_;  // [input], valid ones
  std::vector<char> held_;              // [input]
};

}  // namespace tautline::pipeline
