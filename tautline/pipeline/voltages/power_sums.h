// Detected power of an incoherent beam, summed over spectra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/pipeline/voltages/f_engine.h"

namespace tautline::pipeline {

/// The value of a channel where no spectrum was valid; `mean`: that of its latest samples.
enum class WithoutData { zero, mean };

/// A sample is the mean over the valid spectra of all antennas among `integrate` consecutive ones (a spectrum counts
/// when all polarisations of its antenna are valid, in each channel by itself where the mask has channels). One product
/// (intensity) or four (IQUV).
class PowerSums {
 public:
  PowerSums(std::size_t antennas, std::size_t polarisations, std::size_t channels,
            std::size_t products, std::uint64_t integrate)
      : antennas_(antennas),
        polarisations_(polarisations),
        channels_(channels),
        products_(products),
        integrate_(integrate),
        sums_(products * channels, 0),
        channel_valid_(channels, 0),
        means_(products * channels, 0),
        mean_samples_(channels, 0) {}

  /// Adds spectra of a chunk (ci8, ci16, cf16, cf32) from `first` on, until the sample is complete or the chunk ends.
  /// Returns their number. Throws Error(config) for samples of another type.
  std::size_t add(const SpectraChunk& chunk, std::size_t first);
  bool complete() const { return filled_ == integrate_; }
  /// [product][channel], the last channel first: ascending frequencies become descending. Returns the number of
  /// channels in which no spectrum was valid, and adds these channels of `sample` to `empty_channels`.
  std::size_t take(std::span<float> sample, WithoutData without = WithoutData::zero,
                   std::vector<std::size_t>* empty_channels = nullptr);
  /// Drops spectra that do not fill a sample.
  void reset();

 private:
  template <class View>
  void add_spectra(const View& spectra, const core::ValidityView& valid, std::size_t first,
                   std::size_t end);
  template <class View>
  void add_power(const View& spectra, std::size_t input, std::size_t spectrum, std::size_t channel);
  bool is_valid(const core::ValidityView& valid, std::size_t row, std::size_t spectrum) const;

  std::size_t antennas_, polarisations_, channels_, products_;
  std::uint64_t integrate_, filled_ = 0;
  std::uint64_t valid_ = 0;                   // spectra x antennas that are valid in all channels
  std::vector<double> sums_;                  // [product][channel]
  std::vector<std::uint64_t> channel_valid_;  // [channel] beside those valid in all channels
  std::vector<double> means_;                 // [product][channel] over the latest samples
  std::vector<std::uint64_t> mean_samples_;   // [channel] at most kSamplesOfMean
};

}  // namespace tautline::pipeline
