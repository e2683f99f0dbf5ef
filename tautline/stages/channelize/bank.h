// A checked Config with what every backend derives from it: sizes, the filter in the order of the
// sums, and the term of the transform that each channel is.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

struct Bank {
  Config config;
  std::size_t channels = 0;      ///< C
  std::size_t frame = 0;         ///< M, samples
  std::size_t hop = 0;           ///< D, samples between the starts of spectra
  std::size_t taps = 0;          ///< T
  std::size_t sample_bytes = 0;  ///< of one real or complex sample
  bool real = false;
  bool lower = false;
  std::vector<double> filter;  ///< [tap][frame]: filter[t M + p] = h[(T - t) M - 1 - p]

  /// Throws Error(config) naming the field, the value and the limit.
  explicit Bank(const Config& config);

  std::size_t span() const { return taps * frame; }
  std::size_t components_per_sample() const { return real ? 1 : 2; }
  bool requantised() const { return config.requantised(); }
  std::size_t value_bytes() const { return core::bytes_of(config.output_type()); }

  /// The channel at baseband zero; one past the last for real input of the lower sideband.
  std::size_t zero_channel() const {
    if (!real) return channels / 2;
    return lower ? channels : 0;
  }
  /// f_k of PhaseModel, cycles per sample.
  double frequency(std::size_t channel) const {
    return (static_cast<double>(channel) - static_cast<double>(zero_channel())) /
           static_cast<double>(frame);
  }
  /// The term of the M-point transform that is this channel. For real input of the lower sideband,
  /// of the conjugated transform, so that the sky frequency ascends.
  std::size_t bin(std::size_t channel) const {
    if (!real) return (channel + channels - channels / 2) % channels;
    return lower ? channels - channel : channel;
  }
  /// Number of spectra of `samples` samples.
  std::size_t spectra(std::size_t samples) const {
    return samples < span() ? 0 : (samples - span()) / hop + 1;
  }
};

/// exp(-2 pi i k / (2 channels)), k from 0 to count - 1: for the split step of real input.
std::vector<std::complex<float>> split_roots(std::size_t channels, std::size_t count);

}  // namespace tautline::stages::channelize
