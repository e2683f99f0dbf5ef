// Options and the monitor of a run, for every function that builds a graph and runs it.
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/run_watch.h"

namespace tautline::pipeline {

/// Options of a run whose first source gives samples at `rate_hz`: `reporter`, which outlives the run, is told how far
/// it has come. `memory_bytes`: most that the run may take on the host; 0: no limit.
engine::RunOptions run_options(ProgressReporter& reporter, const core::Rational& rate_hz,
                               std::size_t memory_bytes = 0);

/// A run that `watch` may watch: results of the nodes in `drawn` are worth drawing.
class WatchedRun {
 public:
  WatchedRun(engine::Graph graph, engine::RunOptions options, const RunWatch& watch,
             const std::vector<std::string>& drawn);
  engine::Run& operator*() { return *run_; }
  engine::Run* operator->() { return run_.get(); }
  /// Runs, watched.
  void go(const std::stop_token& stop);

 private:
  const RunWatch& watch_;
  std::unique_ptr<engine::Run> run_;
};

}  // namespace tautline::pipeline
