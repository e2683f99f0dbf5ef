// Filterbank files to dedispersed time series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "tautline/device/device.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/dedisperse_config.h"
#include "tautline/pipeline/search/filterbank_run.h"

namespace tautline::pipeline {

/// Its `samples` count gaps too, which are filled in.
struct DedisperseSummary : FilterbankRunSummary {
  std::uint64_t written = 0;  ///< of every trial of the first range
  std::size_t block_samples = 0;
};

/// What its series are named after, in a folder: the first input, without its ending.
std::string series_name(const FilterbankRunConfig& config);

/// Beside the series, OUTPUT.json (or dedisperse.json in the folder) records dms, tsamp_s,
/// f_ref_mhz, dm_constant, what was cleaned, the kernels and all counters. A gap in the data is
/// filled with the channels' means before it (gapless_reader.h) and counted: a series has one
/// start. Memory is bounded by config.memory_bytes however long the input. What comes by a pipe is
/// dedispersed as it comes, to files that grow (no array), with the series of a file of the same bytes, if its
/// channels that never change are those that do not in the first kFirstSpectra; a stop ends it with what had come.
/// `announce` is given the plan before the run. Throws core::Error; no file has its final name unless this returns.
DedisperseSummary dedisperse_filterbank(
    const DedisperseConfig& config, std::shared_ptr<const device::Device> device,
    const ProgressCallback& progress = {},
    const std::function<void(const std::string&)>& announce = {}, std::stop_token stop = {});

}  // namespace tautline::pipeline
