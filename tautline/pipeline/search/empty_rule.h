// From how many repeats on a stretch of a filterbank holds nothing (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Equal samples of one channel in a row.
std::size_t empty_repeats_of_channel(const formats::FilterbankDescription& description);

/// Channels that repeat their values together.
struct CommonRule {
  std::size_t repeats = 0;   ///< in a row; 0: the other rules find as short ones
  std::size_t channels = 0;  ///< so many or more
  std::size_t every = 0;     ///< spectra from one window in which they are looked for to the next
};

/// A sixteenth of the channels, of which `left_out` do not count, and of these the least number of repeats that noise
/// does not have.
CommonRule common_rule(const formats::FilterbankDescription& description, std::size_t left_out);
/// The same of a fifth of the channels, for shorter stops.
CommonRule wide_rule(const formats::FilterbankDescription& description, std::size_t left_out);
/// From one of its windows to the next.
inline constexpr std::size_t kWideEvery = 4;
/// Spectra on either side of a window of the wide rule that its channels' values are compared with.
inline constexpr std::size_t kBesideWide = 16;

/// Repeats of a whole spectrum in a row that noise does not have, if `counting` channels count: two or more.
std::size_t empty_repeats_of_spectra(const formats::FilterbankDescription& description,
                                     std::size_t counting);
/// So many are empty, whatever their values and those beside them.
std::size_t sure_repeats_of_spectra(const formats::FilterbankDescription& description,
                                    std::size_t counting);
/// A spectrum of zeros, which of many channels of 8 bits or more is none even by itself; empty: it may be data.
std::vector<std::byte> lost_spectrum(const formats::FilterbankDescription& description,
                                     std::size_t counting);
/// The largest value of a channel, as it is delivered; empty for floats, which have none.
std::vector<std::byte> largest_value(const formats::FilterbankDescription& description);
/// From how many samples of the largest value in a row on a channel has stopped: fewer may be a pulse that is clipped.
std::uint64_t clipped_samples(const formats::FilterbankDescription& description);
/// Whether noise repeats a whole spectrum less than once in a thousand times.
bool spectra_differ(const formats::FilterbankDescription& description, std::size_t counting);
/// The channels that count, 1 or more, where `left_out` do not.
std::size_t channels_counting(const formats::FilterbankDescription& description,
                              std::size_t left_out);

}  // namespace tautline::pipeline
