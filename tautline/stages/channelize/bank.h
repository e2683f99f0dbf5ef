// What every backend derives from a Config: sizes, the filter in the order in which the sums read
// it, and which term of the transform a channel is.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

struct Bank {
  Config config;
  std::size_t channels = 0;      ///< C
  std::size_t frame = 0;         ///< M, samples
  std::size_t hop = 0;           ///< D, samples from one spectrum's start to the next one's
  std::size_t taps = 0;          ///< T
  std::size_t sample_bytes = 0;  ///< of one real or complex sample
  bool real = false;
  bool lower = false;
  std::vector<double> filter;  ///< [tap][frame]: filter[t M + p] = h[(T - t) M - 1 - p]

  /// Throws Error(config) naming the field, the value and the limit.
  explicit Bank(const Config& config);

  std::size_t span() const { return taps * frame; }
  std::size_t components_per_sample() const { return real ? 1 : 2; }
  bool requantised() const {
    return config.output == Output::corner_turned_ci8 || config.output == Output::corner_turned_ci4;
  }

  /// The channel (perhaps one past the last) that lies at baseband zero.
  std::size_t zero_channel() const {
    if (!real) return channels / 2;
    return lower ? channels : 0;
  }
  /// f_k of PhaseModel, cycles per sample.
  double frequency(std::size_t channel) const {
    return (static_cast<double>(channel) - static_cast<double>(zero_channel())) /
           static_cast<double>(frame);
  }
  /// The term of the M-point transform that is this channel. Real input of the lower sideband: of
  /// the conjugated transform, so that the frequency of the sky ascends.
  std::size_t bin(std::size_t channel) const {
    if (!real) return (channel + channels - channels / 2) % channels;
    return lower ? channels - channel : channel;
  }
  /// Spectra that `samples` samples hold.
  std::size_t spectra(std::size_t samples) const {
    return samples < span() ? 0 : (samples - span()) / hop + 1;
  }
};

}  // namespace tautline::stages::channelize
