// What dedisperse and search share: the options of their input and lines of their summaries.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/dm_options.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/pipeline/filterbank_run.h"

namespace tautline::cli {

/// Bound to a subcommand's options and to the config of its run; fill() adds what has to be parsed.
struct FilterbankRunOptions {
  DmOptions dms;
  std::string memory;
  bool strict = false;

  /// `memory_caps`: what --memory is a cap on.
  FilterbankRunOptions(std::string default_memory, std::string memory_caps)
      : memory(std::move(default_memory)), memory_caps_(std::move(memory_caps)) {}
  /// --ifs to --overwrite; DmOptions has the options of trials and cleaning.
  void add_input(CLI::App& to, pipeline::FilterbankRunConfig& config);
  /// All but the trials, which DmOptions::choice() gives. Throws core::Error(config).
  void fill(const Global& global, pipeline::FilterbankRunConfig& config) const;

 private:
  std::string memory_caps_;
};

/// "filterbanks (sigproc, PSRFITS), consecutive".
std::string filterbanks_help();

/// What the run reads.
std::vector<formats::NamedFile> files_read(const pipeline::FilterbankRunConfig& config,
                                           const DmOptions& dms);

/// The fields that both summaries have, "output" first.
nlohmann::ordered_json summary_fields(const pipeline::FilterbankRunConfig& config,
                                      const pipeline::FilterbankRunSummary& summary);
/// "300 of 336 channels (6 flagged), zero-DM filter"
std::string channels_text(const pipeline::FilterbankRunSummary& summary, bool zero_dm);
/// "  counted: 0 lost, ..."
std::string counted_line(const pipeline::FilterbankRunSummary& summary);

}  // namespace tautline::cli
