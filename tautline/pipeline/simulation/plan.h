// Everything about a simulated run that is known before its first sample: sizes, frequencies, the
// places of the sources and the scale of the samples. Checked here, computed nowhere else.
//
// How a source is made. Its signal is stationary Gaussian noise, synthesised in blocks of N samples
// that start every H = N - L samples and cross-fade over L, with squares of the fades that sum to
// 1. A block is the transform of independent Gaussian numbers A[k], one a bin; antenna a hears
//   X_a[k] = A[k] exp(-2 pi i f_k tau_a),  f_k the sky frequency of bin k,
// with tau_a the true arrival delay at the block's middle. The correlation of two antennas at equal
// times is then exact, delay and fringe together, for every bin; at other lags it is weighted with
// the overlap of the block with itself (coherence()), which loses amplitude but turns no phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/delays/direction_track.h"
#include "tautline/formats/scene/scene.h"

namespace tautline::pipeline::simulation {

/// The samples to make: the options of the command, besides the scene.
struct Sampling {
  double duration_s = 1;
  bool real = false;
  int bits = 8;     ///< 4, 8 or 16 of each component
  int limit = 127;  ///< largest magnitude of a component; clipping is symmetric
  std::uint64_t seed = 0;
};

/// Block sizes: `block` = N, `fade` = L, `hop` = H, in samples.
struct Blocks {
  std::size_t block = 2048, fade = 256, hop = 1792;
};

/// The part of a source's correlation that the blocks keep between antennas whose delays differ by
/// `samples`: the mean over a hop of the fade's window times itself shifted.
double coherence(const Blocks& blocks, double samples);

/// Block sizes for delays up to `delay_samples` between two antennas and fringes up to
/// `fringe_turns_per_sample`: long against the delays, so that coherence stays above 0.99, and
/// short against the fringes, which are constant in a block. Throws Error(unsupported) when no size
/// satisfies both.
Blocks choose_blocks(double delay_samples, double fringe_turns_per_sample);

/// The x and y amplitudes of a partly polarised source of unit flux.
struct SourcePolarisation {
  double unpolarised = 1;                   ///< of the independent signals of both feeds
  double polarised_x = 0, polarised_y = 0;  ///< of the signal that both share
};

struct PlannedSource {
  formats::scene::Source source;  ///< ra and dec filled in for horizontal ones
  formats::delays::DirectionTrack track;
  SourcePolarisation polarisation;
  std::vector<float> bin_amplitude;  ///< per bin, of the real and of the imaginary part
};

/// Samples [first, last) that are missing.
struct MissingSpan {
  std::int64_t first = 0, last = 0;
  std::vector<std::size_t> inputs;  ///< empty: all
  bool touches(std::size_t input) const;
};

struct SimulationPlan {
  SimulationPlan(const formats::scene::Scene& scene, const formats::ArrayLayout& array,
                 const Sampling& sampling);

  formats::scene::Scene scene;
  formats::ArrayLayout array;
  Sampling sampling;

  core::Rational rate_hz;
  std::uint64_t samples = 0;
  Blocks blocks;
  std::size_t bins = 0;            ///< N for complex samples, N / 2 for real ones
  double first_bin_hz = 0;         ///< sky frequency of bin 0
  double bin_step_hz = 0;          ///< to the next one; negative in a real lower sideband
  double baseband_zero_hz = 0;     ///< sky frequency that the samples show as 0 Hz
  bool conjugate_samples = false;  ///< complex lower sideband

  std::vector<std::vector<std::size_t>> antenna_inputs;  ///< inputs of each antenna
  std::vector<formats::Vector3> offsets_m;               ///< of each antenna, from the centre
  std::vector<PlannedSource> sources;
  std::vector<MissingSpan> missing;
  std::vector<double> noise_rms;  ///< of each input
  double steps_per_unit = 1;      ///< sample = rounded (value x this)

  std::size_t inputs() const { return array.inputs.size(); }
  std::size_t components() const { return sampling.real ? 1 : 2; }
  /// Mean power of an input: noise, sources and tones.
  double input_power(std::size_t input) const;
  /// Power of source s in the feed of an input.
  double source_power(std::size_t s, std::size_t input) const;
  double tone_amplitude(const formats::scene::Tone& tone, std::size_t input) const;
  /// Arrival delay of a source at an antenna, `seconds` after the start, and its rate.
  double delay_s(std::size_t source, std::size_t antenna, double seconds) const;
  double delay_rate(std::size_t source, std::size_t antenna, double seconds) const;
  /// Largest difference of arrival delays that two antennas can have.
  double longest_baseline_s() const;
};

}  // namespace tautline::pipeline::simulation
