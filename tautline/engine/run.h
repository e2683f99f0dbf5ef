// Runs a graph: threads, rings, memory of blocks, copies between host and devices, errors, progress and profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/engine/profile.h"
#include "tautline/engine/snapshot.h"

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

/// An error of a node that a run could not open.
class NodeError : public core::Error {
 public:
  NodeError(std::string node, const core::Error& error)
      : core::Error(error), node_(std::move(node)) {}
  const std::string& node() const { return node_; }

 private:
  std::string node_;
};

/// One node of the opened run: for `--plan`.
struct PlannedNode {
  std::string name, lane, kernels;
  std::vector<Stream> outputs;
  device::MemoryUse bytes;      ///< of the node itself
  std::size_t block_bytes = 0;  ///< of all blocks of its outputs
  std::size_t blocks = 0;
};

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
