// The channels that dedispersion and searches leave out, and the reason for each.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/filterbank_run_config.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

struct LeftOutChannels {
  std::vector<std::size_t> all;       ///< each once, rising
  std::vector<std::size_t> flagged;   ///< channels that the flags found
  std::vector<std::size_t> constant;  ///< channels that never change
};

/// Those that the config names, that its mask zaps, that are constant unless it keeps them and, if it asks for them,
/// that are found bad.
/// Throws Error(config) when no channel is left.
LeftOutChannels channels_to_leave_out(formats::FilterbankReader& reader, const SampleRange& range,
                                      const FilterbankRunConfig& config);

}  // namespace tautline::pipeline
