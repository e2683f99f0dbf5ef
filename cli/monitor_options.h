// --monitor of the commands that run for long.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/run_watch.h"

namespace tautline::cli {

struct MonitorOptions {
  std::string address, token;

  void add_to(CLI::App& command);
  /// Serves a page about a run of this name, which writes these files; nothing where no address was given. Throws
  /// core::Error of options that contradict each other.
  pipeline::RunWatch watch(const std::string& name, std::vector<pipeline::WrittenFile> files) const;
};

}  // namespace tautline::cli
