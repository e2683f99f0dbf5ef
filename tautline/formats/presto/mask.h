// The .mask that PRESTO's rfifind writes: channels and intervals not to be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats::presto {

/// Channels count upwards in frequency from the lowest, as in the file. Lists are ascending,
/// without repeats.
struct Mask {
  double time_sigma = 0, frequency_sigma = 0;
  double mjd = 0;  ///< of sample 0
  double interval_s = 0;
  double low_channel_mhz = 0, channel_width_mhz = 0;
  std::size_t channels = 0, intervals = 0;
  std::size_t samples_per_interval = 0;
  std::vector<std::size_t> zapped_channels;                 ///< over the whole file
  std::vector<std::size_t> zapped_intervals;                ///< over all channels
  std::vector<std::vector<std::size_t>> interval_channels;  ///< [interval]: masked there

  /// The interval of a sample; the last one continues after the mask's end, as in PRESTO.
  std::size_t interval_of(std::uint64_t sample) const;
  /// 1 for every channel that is masked in an interval, 0 for the others, in the order of
  /// `description`'s channels. Throws Error(config) when the mask was made for other channels.
  std::vector<std::uint8_t> channel_flags(std::size_t interval,
                                          const FilterbankDescription& description) const;
  /// What does not fit to data of so many times, gaps included: another start, whose intervals are of other times, and
  /// an end before theirs. Throws Error(config) when the mask was made for other sample times.
  std::vector<std::string> remarks(const FilterbankDescription& description,
                                   std::uint64_t samples) const;
};

/// Throws Error(format) naming the field, its offset and the expectation, Error(io).
Mask read_mask(const std::string& path);

}  // namespace tautline::formats::presto
