// Dispersed pulses in a filterbank: their shape in each channel and the amplitude that gives each
// its S/N after dedispersion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/scene/filterbank_scene.h"

namespace tautline::pipeline::simulation {

/// The distribution function at x of a Gaussian of standard deviation sigma followed by an
/// exponential tail of time constant tau (0: none).
double pulse_distribution(double x, double sigma, double tau);

/// The common properties of all pulses of a run. Frequencies in MHz in the file's order; `gain` is
/// each channel's, `rms` its noise in steps.
struct Receiver {
  std::vector<double> channel_mhz, gain, rms;
  double foff_mhz = 0, tsamp_s = 0;
  double dm_constant = 0;
  bool smearing = false;
  double f_ref_mhz = 0;  ///< the highest of channel_mhz
  /// Of the sum over all channels, in steps.
  double summed_rms() const;
  double delay_s(double dm, double mhz) const;
};

/// One pulse, ready to be added to any block of samples.
class SimulatedPulse {
 public:
  /// Finds the amplitude: the noise-free series is dedispersed with delays rounded to the nearest
  /// sample, like in a search, and scaled to the requested S/N. Throws Error(config) when the pulse
  /// is in no channel.
  SimulatedPulse(const formats::scene::DispersedPulse& pulse, const Receiver& receiver);

  const formats::scene::DispersedPulse& pulse() const { return pulse_; }
  /// The samples that the pulse may change, in any channel.
  double first_sample() const { return first_sample_; }
  double last_sample() const { return last_sample_; }
  /// The steps added to the channel with the largest addition, in its brightest sample.
  double peak_steps() const { return peak_steps_; }
  /// Full delay from the highest to the lowest channel.
  double sweep_s() const { return sweep_s_; }

  /// values[time][channel] += the pulse, for samples [first, first + count).
  void add(const Receiver& receiver, std::uint64_t first, std::size_t count, float* values) const;

 private:
  struct Shape {
    double middle;      // in samples
    double sigma, tau;  // in samples
    double weight;      // of its sum, in steps x samples
  };
  template <class Visit>
  void each_shape(const Receiver& receiver, std::size_t channel, Visit visit) const;
  void find_amplitude(const Receiver& receiver);

  formats::scene::DispersedPulse pulse_;
  double amplitude_ = 1;
  double first_sample_ = 0, last_sample_ = 0, peak_steps_ = 0, sweep_s_ = 0;
};

}  // namespace tautline::pipeline::simulation
