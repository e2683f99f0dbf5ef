// Runs a graph: threads, rings, memory of blocks, copies between host and devices, errors, progress and profile.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/engine/planned_node.h"
#include "tautline/engine/profile.h"
#include "tautline/engine/run_options.h"
#include "tautline/engine/snapshot.h"

namespace tautline::engine {

class Run {
 public:
  /// Opens every node, in the order of the graph. Throws Error(config); NodeError for what nodes throw; Error(memory)
  /// when more than options.memory_bytes are needed. Nothing has started then.
  Run(Graph graph, RunOptions options = {});
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::vector<PlannedNode>& plan() const;
  device::MemoryUse bytes() const;

  /// Runs to the end of every source, once. Throws the first error of any node, and Error(io) "interrupted" when a stop
  /// was requested and any source is not live.
  void go(std::stop_token stop = {});
  /// Requests a checkpoint. From any thread, during the run.
  void checkpoint();
  /// Requests new files of the nodes that can begin them. From any thread.
  void rotate();
  /// Whether there are such nodes.
  bool rotates() const;
  /// Whether all sources are live: a stop then ends the run regularly.
  bool live() const;

  /// The node whose error ended the run; empty: none.
  const std::string& failed_node() const;
  Node& node(const std::string& name) const;
  /// Counters of all nodes, as "node.counter"; also "node.dropped_blocks" where blocks were dropped.
  Counters counters() const;
  /// Node::files() of the nodes that have files, by the node's name; after go().
  std::map<std::string, std::vector<std::string>> files() const;
  /// Node::findings() of all nodes; after go().
  std::string findings() const;
  Profile profile() const;
  /// The present state of the run. From any thread, also before and after go().
  Snapshot snapshot() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::engine
