// From how many repeats on a stretch of a filterbank holds nothing (docs/design/empty.md).
#pragma once

#include <cstddef>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Equal samples of one channel in a row.
std::size_t empty_repeats_of_channel(const formats::FilterbankDescription& description);

/// Equal spectra in a row, of which `left_out` channels do not count.
std::size_t empty_repeats_of_spectra(const formats::FilterbankDescription& description,
                                     std::size_t left_out);

}  // namespace tautline::pipeline
