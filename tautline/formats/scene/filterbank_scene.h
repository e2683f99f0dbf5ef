// The scene of `simulate filterbank`: a receiver's noise, dispersed pulses and interference, from
// options of the form "dm=56,width=0.002,snr=12,time=3" or a TOML file. docs/guide/simulate.md
// describes every field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/time.h"

namespace tautline::formats::scene {

/// A Gaussian pulse, dispersed, with a power-law spectrum and a scattering tail.
struct DispersedPulse {
  double time_s =
      0;          ///< of its middle at the highest channel's centre, from sample 0's leading edge
  double dm = 0;  ///< pc cm^-3
  double width_s = 0;  ///< full width at half maximum
  double snr = 0;      ///< sqrt(sum p^2) / sigma of the series dedispersed at `dm`, before rounding
  double spectral_index = 0;  ///< power(f) ~ f^spectral_index
  double scattering_s = 0;    ///< of the exponential tail at the highest channel; ~ f^-4
};

/// Interference in all channels at once.
struct Impulse {
  double time_s = 0, duration_s = 0;
  double amplitude = 0;  ///< in each channel's noise rms
};

/// Interference at one frequency.
struct Carrier {
  double frequency_mhz = 0, width_mhz = 0;  ///< every channel that it touches, at least one
  double amplitude = 0;                     ///< in the channel's noise rms
  double start_s = 0, duration_s = -1;      ///< negative: to the end
  double period_s = 0, duty = 1;            ///< on for this fraction of each period; 0: always on
};

struct FilterbankScene {
  std::string name = "simulated";
  core::Instant start;  ///< leading edge of sample 0
  std::size_t channels = 0;
  double fch1_mhz = 0, foff_mhz = 0;
  double tsamp_s = 0;
  int bits = 8;
  /// Relative gain from the first channel to the last, linear between the numbers given.
  std::vector<double> bandpass{1};
  bool smearing = false;  ///< each channel's own dispersion widens pulses
  double mean_steps = -1,
         rms_steps = -1;  ///< of the samples where the gain is 1; negative: by bits
  std::vector<DispersedPulse> pulses;
  std::vector<Impulse> impulses;
  std::vector<Carrier> carriers;
};
const core::Fields<FilterbankScene>& fields(const FilterbankScene&);

/// A number of a pulse, an impulse or a carrier: its key in an option's text, its field in TOML.
template <class One>
struct Key {
  const char *name, *field;
  double One::*member;
  bool required = false;
};
const std::vector<Key<DispersedPulse>>& keys_of(const DispersedPulse&);
const std::vector<Key<Impulse>>& keys_of(const Impulse&);
const std::vector<Key<Carrier>>& keys_of(const Carrier&);
/// "key=value,key=value" of one of them, all keys.
template <class One>
std::string text_of(const One& one) {
  std::string text;
  for (const auto& key : keys_of(one))
    text += (text.empty() ? "" : ",") + std::string(key.name) + "=" +
            core::text::write_number(one.*key.member);
  return text;
}

/// "key=value,key=value": dm, time, width, snr, and optionally index and scattering. Throws
/// Error(config) naming the key.
DispersedPulse parse_pulse(std::string_view text);
/// time, duration, amplitude.
Impulse parse_impulse(std::string_view text);
/// frequency, amplitude, and optionally width, start, duration, period and duty.
Carrier parse_carrier(std::string_view text);

/// Throws Error(io) or Error(format) naming the file, table, field and line.
FilterbankScene read_filterbank_scene(const std::string& path);
FilterbankScene parse_filterbank_scene(std::string_view text, const std::string& name);

/// Throws Error(config) naming the field: sizes, frequencies, times and amplitudes out of range.
void check_filterbank_scene(const FilterbankScene& scene);

}  // namespace tautline::formats::scene
