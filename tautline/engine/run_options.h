// The options of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tautline::engine {

/// States of nodes, by name, of one moment of the stream.
using States = std::map<std::string, std::vector<std::byte>>;

struct RunOptions {
  std::size_t memory_bytes = 0;  ///< most that blocks and nodes may take on the host; 0: no limit
  /// Called a few times a second during the run, and at its end: samples (times) of the first source that its consumers
  /// have taken, and their total (0: unknown).
  std::function<void(std::uint64_t samples, std::uint64_t total)> progress = {};
  double progress_every_s = 0.25;
  /// Pace of all sources that are not live, replacing their streams' own; 0: those are used.
  double pace = 0;
  States resume = {};  ///< loaded before the first block
  /// Snapshots have the nodes' counters, which are then published some ten times a second.
  bool live_counters = false;
  /// Receives the states of a checkpoint when every node has saved its own. Called on a lane's thread.
  std::function<void(States)> checkpointed = {};
};

}  // namespace tautline::engine
