// Options of the filter bank and of reading, shared by channelize and correlate.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/field_options.h"
#include "tautline/core/time.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/voltages/filter_config.h"

namespace tautline::cli {

/// The filter bank's options, bound to the config of the run.
struct FilterOptions {
  std::string coefficients_path;
  const CLI::App* command = nullptr;

  template <class Config>
  void add_to(CLI::App& to, Config& config) {
    command = &to;
    add_fields(to, config,
               {"filter.channels", "filter.fine", "filter.taps", "filter.window", "filter.cutoff"});
    note_field(*to.add_option("--coefficients", coefficients_path,
                              "text file with the prototype's coefficients instead of a window"),
               fields(config).named("filter.coefficients"));
    add_field(to, config, "filter.oversample");
  }
  /// Adds the coefficients, and what the user gave.
  void fill(pipeline::FilterConfig& filter) const;
};

/// "voltage files (DADA, ...)", and the axes of NPY.
std::string voltages_help();

/// Whether a pipe of voltages can be read as it comes.
bool voltages_come_in_order(std::span<const std::byte> first_bytes, const std::string& name);

/// Which part of the input, and what a headerless file cannot say, bound to the config of the run.
struct InputOptions {
  bool strict = false;
  const CLI::App* command = nullptr;

  template <class Config>
  void add_to(CLI::App& to, Config& config) {
    command = &to;
    add_input(to, config.inputs, voltages_help());
    add_fields(to, config, {"start_s", "duration_s", "keep_constant"});
    add_strict(to, strict);
    add_overwrite(to, config.overwrite);
    add_field(to, config, "memory_bytes");
    add_reader_options(to, config, "reader.");
  }
  /// The given options, and a warning where nothing gives the sky frequency or the start.
  template <class Config>
  void fill(Config& config) const {
    config.reader.named = given_members(*command, "reader.");
    config.opened = [this, &config](const core::VoltageDescription& input) {
      const std::string file = config.piped ? config.piped->name() : config.inputs.front();
      if (input.centre_hz == 0 && command->count("--centre-hz") == 0)
        warn_of_unknown_frequency(file);
      if (input.start == core::Instant{} && command->count("--utc-start") == 0)
        warn_of_unknown_start(file);
      if (!input.assumed.empty()) warn_of_guess(file, input.assumed);
    };
  }

 private:
  static void warn_of_unknown_frequency(const std::string& file);
  static void warn_of_unknown_start(const std::string& file);
  static void warn_of_guess(const std::string& file, const std::string& assumed);
};

/// The files that both commands read.
std::vector<formats::NamedFile> files_read(const std::vector<std::string>& inputs,
                                           const FilterOptions& filter);

}  // namespace tautline::cli
