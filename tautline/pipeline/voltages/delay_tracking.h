// From delay models to the corrections around the filter bank: whole samples and phases for a run of spectra, or phases
// for visibilities that were correlated without delays.
//
// Delaying the sky's signal by d multiplies the baseband's channel at sky frequency f by
// exp(-2 pi i f d). With n = round(d rate) whole samples shifted before the filter, the remaining phase is
//   exp(-2 pi i ((f - f0) (d - n / rate) + f0 d))
// with f0 the sky frequency of baseband zero. In a lower sideband this applies to the conjugate of the samples; f - f0
// is then negative for real samples, whose f0 is the band's upper edge.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/core/view.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::pipeline {

/// A run of spectra, timed at the filter's output: spectrum s is made of the delayed samples [s hop, s hop + span)
/// after `start`.
struct SpectraRun {
  core::Instant start;     ///< leading edge of the first spectrum's first sample
  core::Rational rate_hz;  ///< of the samples
  std::size_t hop_samples = 1;
  std::size_t span_samples = 1;
  std::uint64_t spectra = 1;
  double baseband_zero_hz = 0;  ///< of frequencies.h
};

struct RunDelays {
  /// Output sample t is input sample t - n; one value an input.
  std::vector<std::int64_t> whole_samples;
  /// The remaining phases, for channelize::Input::phases.
  std::vector<stages::channelize::PhaseModel> phases;
};

/// The correction of a run. Whole samples are those at its middle; the phases follow the straight
/// line from the delay at the middle of the first spectrum to that of the last one, which is exact
/// where the run lies in one piece of a model. For results that do not depend on how a stream is
/// cut, make runs of a fixed number of spectra counted from the stream's start. Throws
/// Error(config) when the models start later.
RunDelays run_delays(const formats::delays::Table& table, const SpectraRun& run);

/// The delay of each input at an instant, seconds.
std::vector<double> delays_at(const formats::delays::Table& table, const core::Instant& time);

/// Rotates the fringes of visibilities that were correlated without delays, as the MWA correlates:
///   V(i, j) *= exp(-2 pi i f (d_i - d_j))
/// |      buffer      | axes                | type           | written  |
/// |   visibilities   | [channel][baseline] | complex<float> | in place |
/// The amplitude that a narrow channel lost to delays of many samples is not restored.
void rotate_visibilities(const std::vector<double>& delays_s, const std::vector<double>& channel_hz,
                         const core::View<std::complex<float>, 2>& visibilities);

}  // namespace tautline::pipeline
