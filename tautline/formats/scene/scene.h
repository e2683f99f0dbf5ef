// scene.toml: the sky, the tones, the receivers' noise and the band that `simulate voltages` plays.
// Powers are relative: noise_rms = 1 and flux = 0.01 is a source a hundred times fainter than the
// noise of one input. docs/guide/simulate.md describes every field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/time.h"

namespace tautline::formats::scene {

/// A point source, white over the band (or with a power-law spectrum), unpolarised or in part
/// linearly polarised. The x and y feeds of all antennas see the same two polarisations.
struct Source {
  std::string name;
  bool horizontal = false;  ///< the place is azimuth and elevation at the start, else ICRS
  double ra_deg = 0, dec_deg = 0;
  double azimuth_deg = 0, elevation_deg = 0;  ///< azimuth east from north; followed with the sky
  double flux = 0;            ///< power in each feed of every antenna (unpolarised), noise_rms^2
  double spectral_index = 0;  ///< flux(f) = flux (f / centre_hz)^spectral_index
  double polarised_fraction = 0;      ///< linear, 0 to 1
  double polarisation_angle_deg = 0;  ///< from the x feed towards the y feed
};

/// A pure tone made in the receivers: the same phase in every input.
struct Tone {
  double frequency_hz = 0;         ///< on the sky, inside the band
  std::vector<double> amplitudes;  ///< one for all inputs, or one an input; of exp(i...) or cos
  double phase_deg = 0;            ///< at the leading edge of the first sample
};

/// Samples that never reach the file, or reach it as zeros where the format cannot leave them out.
struct Missing {
  double start_s = 0, duration_s = 0;  ///< from the start of the run
  std::vector<std::size_t> inputs;     ///< empty: all
};

struct Scene {
  std::string name = "scene";
  core::Instant start;
  double centre_hz = 154.88e6;                ///< sky frequency of the band's middle
  core::Rational bandwidth_hz{1'280'000, 1};  ///< sampled at this rate (complex) or twice it (real)
  bool lower_sideband = false;
  std::vector<double> noise_rms{1.0};  ///< one for all inputs, or one an input
  double rms_steps = 0;                ///< mean rms of the samples in steps; 0: by the bits
  std::vector<Source> sources;
  std::vector<Tone> tones;
  std::vector<Missing> missing;
};

/// Throws Error(io) or Error(format) naming the file, table, field and line.
Scene read_scene(const std::string& path);
/// The same for text in memory; `name` stands for the file in messages.
Scene parse_scene(std::string_view text, const std::string& name);

}  // namespace tautline::formats::scene
