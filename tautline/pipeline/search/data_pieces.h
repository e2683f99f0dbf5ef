// Spectra of a filterbank between its empty stretches (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Pieces of a range, in order of time.
using DataPieces = std::vector<SampleRange>;

std::uint64_t length_of(const DataPieces& pieces);

/// Spectra of a filterbank that are searched for empty stretches at a time, at most: 65,536, or 256 MiB.
std::uint64_t most_searched(const formats::FilterbankDescription& description);

/// The range without its empty stretches. `counts`: [channel]; the others may change in a stretch.
DataPieces data_pieces(formats::FilterbankReader& reader, const SampleRange& range,
                       const std::vector<bool>& counts);
/// The first, or last, `spectra` spectra of these, or as many as there are within most_searched() of the range's begin,
/// or end.
DataPieces first_data(formats::FilterbankReader& reader, const SampleRange& range,
                      std::uint64_t spectra, const std::vector<bool>& counts);
DataPieces last_data(formats::FilterbankReader& reader, const SampleRange& range,
                     std::uint64_t spectra, const std::vector<bool>& counts);

}  // namespace tautline::pipeline
