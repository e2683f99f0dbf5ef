// Options of DM plans and cleaning, shared by dedisperse and search.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/field_options.h"
#include "tautline/pipeline/search/filterbank_run_config.h"

namespace tautline::cli {

/// Bound to the config of a run, which has pipeline::FilterbankRunConfig as its base.
struct DmOptions {
  std::string dm_list;
  const CLI::App* command = nullptr;

  template <class Config>
  void add_to(CLI::App& to, Config& config) {
    command = &to;
    add_fields(to, config, {"dms.range", "dms.tolerance", "dms.pulse_width_s"});
    note_field(*to.add_option("--dm-list", dm_list, "a file of trials, instead of --dms"),
               fields(config).named("dms.list"));
    add_fields(to, config, {"dms.downsample_tolerance", "dm_constant", "method", "max_loss"});
    add_fields(
        to, config,
        {"ignored_channels", "mask", "flag_channels", "iqrm", "iqrm_limits.threshold",
         "iqrm_limits.radius", "iqrm_limits.every_s", "keep_constant", "zero_dm", "bandpass"},
        "Cleaning");
  }
  /// Reads --dm-list. Throws core::Error(config) for options that contradict each other.
  void fill(pipeline::FilterbankRunConfig& config) const;
};

}  // namespace tautline::cli
