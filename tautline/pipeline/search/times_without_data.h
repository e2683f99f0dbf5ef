// Times of a filterbank that hold no data, and the pieces of a dedispersed series that are made of data alone.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/filled_values.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/read_trial.h"

namespace tautline::pipeline {

/// Empty stretches of a beam, and times at which most of its channels stopped, that overlap `range`, on the beam's grid.
std::vector<SampleRange> empty_times(const EmptyFound& found, std::size_t beam,
                                     const SampleRange& range);

/// Intervals of a mask that overlap `range`, in which more than half of the channels that are not ignored are masked.
std::vector<SampleRange> masked_times(const formats::presto::Mask& mask,
                                      const formats::FilterbankDescription& description,
                                      const std::vector<std::size_t>& ignored_channels,
                                      const SampleRange& range);

/// Segments that hold data, [first, end), less gaps. `before`: the gaps' sample that is the segments' sample 0.
std::vector<std::pair<std::uint64_t, std::uint64_t>> without_gaps(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& segments,
    std::span<const FilledRun> gaps, std::uint64_t before);

/// The pieces of a trial none of whose samples needs a time `without_data`, in any order, in order of time.
std::vector<std::span<const float>> pieces_of_data(const TrialStretch& trial,
                                                   std::vector<SampleRange> without_data);

}  // namespace tautline::pipeline
