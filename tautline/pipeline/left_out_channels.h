// Which channels dedispersion and searches leave out, and why.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/filterbank_blocks.h"

namespace tautline::pipeline {

struct LeftOutRequest {
  std::vector<std::size_t> ignored;  ///< in the file's order, from 0
  std::string mask;                  ///< rfifind's, whose zapped channels count; empty: none
  bool flag = false;                 ///< look for bad ones: channel_flags.h
};

struct LeftOutChannels {
  std::vector<std::size_t> all;      ///< each once, rising
  std::vector<std::size_t> flagged;  ///< those of them that looking at the data found
};

/// Throws Error(config) when no channel is left.
LeftOutChannels channels_to_leave_out(formats::FilterbankReader& reader, const SampleRange& range,
                                      const LeftOutRequest& request);

}  // namespace tautline::pipeline
