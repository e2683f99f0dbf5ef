// Detected power of an incoherent beam, summed over spectra.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/pipeline/voltages/f_engine.h"

namespace tautline::pipeline {

/// A sample is the mean over the valid spectra of all antennas among `integrate` consecutive ones (a spectrum counts
/// when all polarisations of its antenna are valid); zero where there is none. One product (intensity) or four (IQUV).
class PowerSums {
 public:
  PowerSums(std::size_t antennas, std::size_t polarisations, std::size_t channels,
            std::size_t products, std::uint64_t integrate)
      : antennas_(antennas),
        polarisations_(polarisations),
        channels_(channels),
        products_(products),
        integrate_(integrate),
        sums_(products * channels, 0) {}

  /// Adds spectrum `spectrum` of a chunk of complex floats. True: a sample is complete, and take() has it.
  bool add(const SpectraChunk& chunk, std::size_t spectrum);
  /// [product][channel], the last channel first: upwards in frequency become downwards.
  void take(std::span<float> sample);
  /// Forgets spectra that do not fill a sample.
  void reset();

 private:
  void add_antenna(const SpectraChunk& chunk, std::size_t antenna, std::size_t spectrum);

  std::size_t antennas_, polarisations_, channels_, products_;
  std::uint64_t integrate_, filled_ = 0, valid_ = 0;
  std::vector<double> sums_;  // [product][channel]
};

}  // namespace tautline::pipeline
