// Filterbank files to a list of pulses: clean, dedisperse, detect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/dedisperse_filterbank.h"
#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

struct SearchConfig {
  std::vector<std::string> inputs;
  std::string output;            ///< .csv, .cand or .singlepulse; OUTPUT.json beside it
  std::string plot_folder;       ///< candidates.html goes there; empty: no page
  std::size_t most_plots = 100;  ///< candidates drawn, best first
  bool overwrite = false;
  /// Trials. A dedispersed series is searched as it is, and has the DM that it says.
  DmChoice dms;
  double dm_constant = core::kDispersionConstant;
  stages::dedisperse::Method method = stages::dedisperse::Method::automatic;
  double max_loss = 0.01;
  std::vector<std::size_t> ignored_channels;  ///< in the file's order, from 0
  std::string mask;                           ///< rfifind's; empty: none
  bool zero_dm = false;
  bool flag_channels = false;  ///< leave out channels that channel_flags.h finds bad
  double threshold = 6;
  double max_width_s = 0.1;
  double baseline_s = 0;  ///< 0: 2 s, or 16 times the widest boxcar
  stages::detect::Noise noise = stages::detect::Noise::trial;
  stages::detect::Links links;
  formats::FilterbankOptions reader;
  double start_s = 0, duration_s = -1;
  std::size_t memory_bytes = std::size_t{2} << 30;
  std::string history;
};

struct SearchSummary {
  std::size_t trials = 0, channels = 0, ignored_channels = 0, flagged_channels = 0;
  std::size_t widths = 0, passes = 1;
  std::uint64_t samples = 0;      ///< of the input
  std::size_t stretches = 1;      ///< of data without a gap, each searched for itself
  std::uint64_t gap_samples = 0;  ///< times between them
  std::uint64_t detections = 0;   ///< stretches of single trials over the threshold
  std::uint64_t masked = 0;       ///< samples (times x channels) replaced because a mask said so
  std::uint64_t not_finite = 0;
  std::size_t bytes = 0;
  double elapsed_s = 0, stream_s = 0;
  double f_ref_mhz = 0;
  double loss = 0;        ///< of S/N, the worst trial's, by sub-bands
  double expected_s = 0;  ///< that the run was expected to take, reading and cleaning aside
  std::string backend, detect_backend;
  std::vector<std::string> methods;         ///< of each segment, for people
  std::vector<core::Candidate> candidates;  ///< best first, samples of the input
  std::vector<std::string> paths;
  formats::Damage damage;
};

/// Each trial is searched to its last complete sample. A gap in the data ends a search and begins
/// another; of a stretch that is shorter than the highest DMs' delays the lower ones are searched.
/// When the trials do not fit into memory_bytes at once, the input is read several times: with
/// exact sums the list is the same to the bit, sub-bands may differ within their loss. `announce`
/// is given the plan before the run. Throws core::Error; no file has its final name unless this
/// returns.
SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress = {},
                                const std::function<void(const std::string&)>& announce = {},
                                std::stop_token stop = {});

}  // namespace tautline::pipeline
