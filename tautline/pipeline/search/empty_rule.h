// From how many repeats on a stretch of a filterbank holds nothing (docs/design/empty.md).
#pragma once

#include <cstddef>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Equal samples of one channel in a row.
std::size_t empty_repeats_of_channel(const formats::FilterbankDescription& description);

/// Channels that repeat their values together.
struct CommonRule {
  std::size_t repeats = 0;   ///< in a row; 0: the other rules find as short ones
  std::size_t channels = 0;  ///< so many or more
};

/// A sixteenth of the channels, of which `left_out` do not count, and of these the least number of repeats that noise
/// does not have.
CommonRule common_rule(const formats::FilterbankDescription& description, std::size_t left_out);

/// Equal spectra in a row, of which `left_out` channels do not count.
std::size_t empty_repeats_of_spectra(const formats::FilterbankDescription& description,
                                     std::size_t left_out);

}  // namespace tautline::pipeline
