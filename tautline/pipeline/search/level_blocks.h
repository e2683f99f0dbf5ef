// Means and standard deviations of every channel in blocks of spectra, and how they change from one block to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/data_pieces.h"

namespace tautline::pipeline {

/// [channel] of a block; values that are not finite do not count.
struct BlockLevels {
  explicit BlockLevels(std::size_t channels)
      : count(channels), mean(channels), deviation(channels) {}
  std::vector<double> count, mean, deviation;
};

/// Of `spectra` of the pieces' spectra, from the one with the number `skip` on; adds their mean time.
BlockLevels read_levels(formats::FilterbankReader& reader, const DataPieces& pieces,
                        std::uint64_t skip, std::size_t spectra, double& time);
/// Of all of the pieces' spectra.
BlockLevels levels_in(formats::FilterbankReader& reader, const DataPieces& pieces);

/// The mean of the middle half; of three the middle one. Sorts the values, one or more.
double middle_mean(std::vector<double>& values);

/// The means over the middle half of the channels.
struct LevelChange {
  double mean = 0;   ///< in standard deviations of a channel
  double noise = 0;  ///< logarithm of the ratio of the standard deviations
};

/// Whether a channel has noise in both blocks.
bool has_noise(std::size_t channel, const BlockLevels& from, const BlockLevels& to);
/// Of the channels that `counts` and that have noise; zeros where there is none.
LevelChange change_of(const BlockLevels& from, const BlockLevels& to,
                      const std::vector<bool>& counts);
/// The standard errors of a change from one block to the next of white noise, in half of the channels.
LevelChange least_change(std::size_t spectra, const std::vector<bool>& counts);

}  // namespace tautline::pipeline
