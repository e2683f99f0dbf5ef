// A simulated filterbank: noise, dispersed pulses and interference, with the truth beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/simulation/simulate_filterbank_config.h"
#include "tautline/pipeline/simulation/simulate_voltages.h"

namespace tautline::pipeline {

struct SimulateFilterbankSummary {
  std::size_t channels = 0, pulses = 0;
  std::size_t pulses_cut = 0;  ///< pulses that are only in part in the file
  std::uint64_t samples = 0;
  std::uint64_t clipped = 0;  ///< values outside the range of the bits
  double elapsed_s = 0, stream_s = 0;
  std::size_t memory_bytes = 0;
  std::string file, truth_path;
  engine::Profile profile;
};

/// Writes the filterbank and then the truth. The same seed gives the same bytes, and a longer run
/// begins with a shorter one's samples where its pulses are the same. Throws core::Error; a file
/// gets its final name only when it is whole. Stopping throws Error(io, "interrupted").
SimulateFilterbankSummary simulate_filterbank(const SimulateFilterbankConfig& config,
                                              const ProgressCallback& progress = {},
                                              std::stop_token stop = {});

/// The same samples as a reader; `output` is not used. Throws core::Error.
std::unique_ptr<formats::FilterbankReader> open_simulated_filterbank(
    const SimulateFilterbankConfig& config);

/// X.truth.json for X.fil, NAME.truth.json for NAME.
std::string filterbank_truth_path(const std::string& output);

}  // namespace tautline::pipeline
