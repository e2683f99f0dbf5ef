// Options of the filter bank and of reading, shared by channelize and correlate.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "tautline/formats/distinct_files.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/correlate_voltages.h"
#include "tautline/pipeline/f_engine.h"

namespace tautline::cli {

/// Bound to a subcommand's options; resolve() gives what the pipeline takes.
struct FilterOptions {
  std::size_t channels = 128;
  std::size_t taps = 8;
  std::string window = "hann";
  double cutoff = 1.0;
  std::string coefficients_path;
  std::string oversample = "1/1";

  const CLI::App* command = nullptr;

  void add_to(CLI::App& to);
  pipeline::FilterConfig resolve() const;
};

/// Which part of the input, and what a headerless file cannot say.
struct InputOptions {
  std::vector<std::string> files;
  double start_s = 0, duration_s = -1;
  bool receivers = false;
  bool strict = false;
  bool overwrite = false;
  std::string memory = "512M";
  std::string format;  // of headerless files
  std::string rate_hz, centre_hz, bandwidth_hz, utc_start;
  std::size_t antennas = 0, polarisations = 0;
  const CLI::App* command = nullptr;

  /// Without a description: voltage files of every format.
  void add_to(CLI::App& to, const std::string& description = {});
  /// What a pipeline's config says of its input and its memory.
  template <class Config>
  void fill(Config& config) const {
    config.inputs = files;
    config.start_s = start_s;
    config.duration_s = duration_s;
    config.reader = reader();
    config.overwrite = overwrite;
    config.memory_bytes = parse_bytes(memory);
    config.opened = [this](const auto& input) { warn_of_unknown_frequency(input); };
  }
  formats::ReaderOptions reader() const;
  /// Warns where neither the file nor --centre-hz says the sky frequency.
  void warn_of_unknown_frequency(const core::VoltageDescription& input) const;
};

/// What both read.
std::vector<formats::NamedFile> files_read(const InputOptions& input, const FilterOptions& filter);

/// "off", "4" or "8".
pipeline::Requantise parse_requantise(const std::string& text);

/// Those of `options` that the user named.
std::vector<std::string> named(const CLI::App& command, const std::vector<std::string>& options);

}  // namespace tautline::cli
