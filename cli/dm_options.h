// Options of DM plans and cleaning, shared by dedisperse and search.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tautline/pipeline/filterbank_run.h"

namespace tautline::cli {

/// Bound to a subcommand's options and, what needs no parsing, to the config of its run.
struct DmOptions {
  std::string dms, dm_list;
  double tolerance = 1.25, pulse_width_us = 40, downsample_tolerance = 0;
  std::string dm_constant = "4148.808";
  std::string method = "auto";
  std::optional<double> max_loss_percent;
  std::string ignored;
  const CLI::App* command = nullptr;

  void add_to(CLI::App& to, pipeline::FilterbankRunConfig& config);
  /// --dms or --dm-list. Without them the pipeline decides: a dedispersed series has its DM.
  bool given() const { return !dms.empty() || !dm_list.empty(); }
  /// Throws core::Error(config) naming the option.
  pipeline::DmChoice choice() const;
  double constant() const;
  /// 0: none asked for. Throws core::Error(config).
  double max_loss() const;
};

/// "LO:HI:STEP", "LO:HI" or one DM. Throws core::Error(config).
struct DmRange {
  double low = 0, high = 0, step = 0;
  bool has_step = false;
};
DmRange parse_dm_range(const std::string& text);

/// "0:5,34": channels 0 to 5 and 34. Throws core::Error(config).
std::vector<std::size_t> parse_channels(const std::string& text);

}  // namespace tautline::cli
