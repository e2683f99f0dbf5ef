// Mean and standard deviation of each channel over a piece of a filterbank.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// [channel]; 0 where no value is finite.
struct ChannelMoments {
  std::vector<double> mean, deviation;
};

/// Of spectra [time][channel] as a reader delivers them. Values that are not finite take no part. Integers are summed
/// exactly.
ChannelMoments measure_moments(std::span<const std::byte> spectra, formats::Delivered type,
                               std::size_t channels);

}  // namespace tautline::pipeline
