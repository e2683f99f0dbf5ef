// The common parts of dedisperse and search: the options of their input and lines of their summaries.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/dm_options.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/search/filterbank_run.h"

namespace tautline::cli {

/// Bound to the config of a run, which has pipeline::FilterbankRunConfig as its base.
struct FilterbankRunOptions {
  DmOptions dms;
  bool strict = false;

  /// --ifs to --overwrite; DmOptions has the options of trials and cleaning.
  template <class Config>
  void add_input(CLI::App& to, Config& config) {
    add_fields(to, config, {"reader.ifs", "start_s", "duration_s", "memory_bytes"});
    add_strict(to, strict);
    add_overwrite(to, config.overwrite);
  }
};

/// "filterbanks (sigproc, PSRFITS), consecutive".
std::string filterbanks_help();

/// More than one look at the input: what comes by a pipe is then kept in a file meanwhile.
bool reads_again(const pipeline::FilterbankRunConfig& config);

/// The inputs of the run.
std::vector<formats::NamedFile> files_read(const pipeline::FilterbankRunConfig& config,
                                           const DmOptions& dms);

/// The fields that both summaries have, "output" first.
nlohmann::ordered_json summary_fields(const pipeline::FilterbankRunConfig& config,
                                      const pipeline::FilterbankRunSummary& summary);
/// The exit status: damage_status, or that of damaged input for a run over samples that all held nothing, which it
/// warns of.
int filterbank_status(const pipeline::FilterbankRunSummary& summary, bool strict);
/// "300 of 336 channels (6 flagged), zero-DM filter"
std::string channels_text(const pipeline::FilterbankRunSummary& summary, bool zero_dm);
/// "  counted: 0 lost, ..."
std::string counted_line(const pipeline::FilterbankRunSummary& summary);

}  // namespace tautline::cli
