// Which samples of a filterbank are read: a range, cut at its gaps.
#pragma once

#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/filterbank_stream.h"

namespace tautline::pipeline {

/// `duration_s` < 0: to the end. Seconds of data: gaps take none. Throws Error(config) when it
/// begins behind the data or is empty.
SampleRange choose_range(const formats::FilterbankReader& reader, double start_s,
                         double duration_s);

/// A range cut at its gaps: one or more, in order of time.
std::vector<PlacedRange> split_at_gaps(const formats::FilterbankReader& reader,
                                       const SampleRange& range);

}  // namespace tautline::pipeline
