// The live monitor of a run: a page, its status and its metrics over HTTP. docs/design/monitor.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/run.h"
#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/monitor/taps.h"

namespace tautline::pipeline::monitor {

struct MonitorConfig {
  std::string address = "127.0.0.1:0";  ///< with the port; 0: one that the system chooses
  std::string token;                    ///< that other addresses than this machine's need
  std::string pipeline;                 ///< the name of what runs
  std::vector<WrittenFile> files;
  std::vector<std::shared_ptr<Tapped>> taps;
  double every_s = 0.4;  ///< between two looks at the run, and two messages to pages
};

class Monitor {
 public:
  /// Serves from now on. `run`, of options with live_counters, outlives this. Throws Error(config) for an address that
  /// is not allowed, Error(io) for one that is taken, Error(unsupported) in a build without Boost.
  Monitor(MonitorConfig config, const engine::Run& run);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Where the page is.
  std::string url() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::pipeline::monitor
