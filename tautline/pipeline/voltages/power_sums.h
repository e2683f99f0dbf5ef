// Detected power of an incoherent beam, summed over spectra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/voltages/f_engine.h"

namespace tautline::pipeline {

/// The value of a channel where no spectrum was valid; `mean`: that of its latest samples.
enum class WithoutData { zero, mean };

/// A sample is the mean over the valid spectra of all antennas among `integrate` consecutive ones (a spectrum counts
/// when all polarisations of its antenna are valid, in each channel by itself where the mask has channels). One product
/// (intensity) or four (IQUV).
class PowerSums {
 public:
  struct EmptyValue {
    std::size_t sample, channel;
  };

  PowerSums(std::size_t antennas, std::size_t polarisations, std::size_t channels,
            std::size_t products, std::uint64_t integrate)
      : antennas_(antennas),
        polarisations_(polarisations),
        channels_(channels),
        products_(products),
        integrate_(integrate),
        sums_(products * channels, 0),
        valid_(channels, 0),
        means_(products * channels, 0),
        mean_samples_(channels, 0) {}

  /// How many samples the next so many spectra complete.
  std::size_t samples_of(std::size_t spectra) const {
    return static_cast<std::size_t>((filled_ + spectra) / integrate_);
  }
  /// Adds the spectra of a chunk (ci8, ci16, cf16, cf32), on the threads of `host_queue` (null: on the caller's).
  /// `samples` takes those that they complete, [sample][product][channel], the last channel first: ascending frequencies
  /// become descending. Returns the values without a valid spectrum, by sample and channel of `samples`. Throws
  /// Error(config) for samples of another type.
  std::vector<EmptyValue> add(const SpectraChunk& chunk, std::span<float> samples,
                              WithoutData without = WithoutData::zero,
                              device::Queue* host_queue = nullptr);
  /// Drops spectra that do not fill a sample.
  void reset();

 private:
  /// Channels [first, end), whose sums no other thread touches.
  struct Channels {
    std::size_t first, end;
  };
  template <class View>
  void add_channels(const View& spectra, std::size_t count, const core::ValidityView& valid,
                    const Channels& channels, std::span<float> samples, WithoutData without,
                    std::vector<EmptyValue>& empty);
  template <class View>
  void add_power(const View& spectra, std::size_t input, std::size_t spectrum,
                 const Channels& channels);
  void take(const Channels& channels, std::size_t sample, std::span<float> samples,
            WithoutData without, std::vector<EmptyValue>& empty);
  bool is_valid(const core::ValidityView& valid, std::size_t row, std::size_t spectrum) const;

  std::size_t antennas_, polarisations_, channels_, products_;
  std::uint64_t integrate_, filled_ = 0;
  std::vector<double> sums_;                 // [product][channel]
  std::vector<std::uint64_t> valid_;         // [channel] spectra x antennas
  std::vector<double> means_;                // [product][channel] over the latest samples
  std::vector<std::uint64_t> mean_samples_;  // [channel] at most kSamplesOfMean
};

}  // namespace tautline::pipeline
