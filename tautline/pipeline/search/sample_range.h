// Which samples of a filterbank are read: a range, cut at its gaps.
#pragma once

#include <cstdint>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

/// Samples [first, first + count) of a reader's data: what start_s and duration_s name.
struct SampleRange {
  std::uint64_t first = 0, count = 0;
};

/// `duration_s` < 0: to the end. Seconds of data: gaps take none. Throws Error(config) when it
/// begins behind the data or is empty.
SampleRange choose_range(const formats::FilterbankReader& reader, double start_s,
                         double duration_s);

/// A part of a range without a gap, and where it stands on the grid of times that begins with the
/// reader's sample 0 and on which gaps take time.
struct PlacedRange {
  SampleRange range;
  std::uint64_t grid_first = 0;
};

/// A range cut at its gaps: one or more, in order of time.
std::vector<PlacedRange> split_at_gaps(const formats::FilterbankReader& reader,
                                       const SampleRange& range);

}  // namespace tautline::pipeline
