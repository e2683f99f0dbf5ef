// Bytes of a filterbank that are read as unsigned and are signed, or the other way round: their values lie at both ends
// of the range, and not between.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// A warning where more than half of the channels have such values in 64 parts of 16 spectra, spread over the range;
/// empty otherwise, and for samples that are no single bytes.
std::string wrapped_bytes_text(formats::FilterbankReader& reader, const SampleRange& range,
                               std::span<const std::size_t> left_out);

}  // namespace tautline::pipeline
