// A filterbank from a pipe, for runs that otherwise read files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/live_filterbank_node.h"

namespace tautline::pipeline {

/// Of a pipe; longer blocks are no faster, shorter ones repeat more of the overlap.
inline constexpr std::size_t kPipedBlock = 8192;

struct PipedFilterbank {
  std::unique_ptr<LiveFilterbankNode> source;
  std::shared_ptr<FilterbankInput> input;  ///< of kLiveSamples, until end_piped()
};

/// config.piped: with what holds nothing filled or left out, in blocks of `block_samples` (0: kLiveBlock). Channels
/// that never change in its first spectra, which this waits for, are left out unless config keeps them.
PipedFilterbank open_piped_filterbank(const FilterbankRunConfig& config, bool fill_gaps,
                                      std::size_t block_samples, const std::stop_token& stop);

/// It was so long.
void end_piped(FilterbankInput& input, std::uint64_t samples);

}  // namespace tautline::pipeline
