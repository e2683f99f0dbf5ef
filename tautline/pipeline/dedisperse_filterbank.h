// Filterbank files to dedispersed time series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/correlate_voltages.h"
#include "tautline/pipeline/trial_sink.h"
#include "tautline/stages/dedisperse/dm_plan.h"

namespace tautline::pipeline {

/// Which trials, before the band is known.
struct DmChoice {
  std::vector<double> list;  ///< when given, the rest is not used
  double low = 0, high = 0;
  double step = 0;                  ///< linear; 0: by tolerance
  double tolerance = 0;             ///< more than 1
  double pulse_width_s = 40e-6;     ///< that tolerances are about
  double downsample_tolerance = 0;  ///< more than 1: add neighbouring samples where smearing allows
};

struct DedisperseConfig {
  std::vector<std::string> inputs;
  std::string output;
  SeriesFormat format = SeriesFormat::npy;
  bool overwrite = false;
  DmChoice dms;
  double dm_constant = core::kDispersionConstant;
  stages::dedisperse::Method method = stages::dedisperse::Method::automatic;
  double max_loss = 0.01;
  std::vector<std::size_t> ignored_channels;  ///< in the file's order, from 0
  std::string mask;                           ///< rfifind's; empty: none
  bool zero_dm = false;
  bool flag_channels = false;  ///< leave out channels that channel_flags.h finds bad
  formats::FilterbankOptions reader;
  double start_s = 0, duration_s = -1;
  std::size_t memory_bytes = std::size_t{512} << 20;
  std::string history;
};

struct DedisperseSummary {
  std::size_t trials = 0, channels = 0, ignored_channels = 0, flagged_channels = 0;
  std::uint64_t samples = 0;      ///< of the input, gaps among them
  std::uint64_t gap_samples = 0;  ///< times of the input that are missing, filled in
  std::uint64_t written = 0;      ///< of every trial of the first segment
  std::uint64_t masked = 0;       ///< samples (times x channels) replaced because a mask said so
  std::uint64_t not_finite = 0;
  std::size_t block_samples = 0, bytes = 0;
  double elapsed_s = 0, stream_s = 0;
  double expected_s = 0;  ///< that the sums were expected to take, reading aside
  double f_ref_mhz = 0;
  std::string backend;
  std::vector<std::string> methods;  ///< of each segment, for people
  double loss = 0;                   ///< of S/N, the worst trial's
  std::vector<std::string> paths;
  formats::Damage damage;
};

/// Beside the series, OUTPUT.json (or dedisperse.json in the folder) records dms, tsamp_s,
/// f_ref_mhz, dm_constant, what was cleaned, the kernels and all counters. A gap in the data is
/// filled with the channels' means before it (gapless_reader.h) and counted: a series has one
/// start. Memory is bounded by config.memory_bytes however long the input. `announce` is given the
/// plan before the run. Throws core::Error; no file has its final name unless this returns.
DedisperseSummary dedisperse_filterbank(
    const DedisperseConfig& config, std::shared_ptr<const device::Device> device,
    const ProgressCallback& progress = {},
    const std::function<void(const std::string&)>& announce = {}, std::stop_token stop = {});

/// Trials of a choice for a band: what search shares. Throws Error(config).
stages::dedisperse::DmPlan make_dm_plan(const DmChoice& choice,
                                        const stages::dedisperse::Band& band);

/// A stage's Config for what a reader delivers, without trials.
stages::dedisperse::Config stage_config(const formats::FilterbankDescription& description);

}  // namespace tautline::pipeline
