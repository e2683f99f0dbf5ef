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
  /// Called a few times a second while the run goes on, and at its end: samples (times) of the first source that have
  /// been taken by its consumers, and how many there will be (0: not known).
  std::function<void(std::uint64_t samples, std::uint64_t total)> progress = {};
  double progress_every_s = 0.25;
  /// Of all sources that are not live, instead of their streams' own; 0: those.
  double pace = 0;
  States resume = {};  ///< loaded before the first block
  /// Nodes' counters are wanted in snapshots: they are asked for some ten times a second.
  bool live_counters = false;
  /// Given the states of a checkpoint when every node has saved its own. Called on a lane's thread.
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

/// One node as the run has it: for `--plan`.
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
  /// was asked for and there is a source that is not live.
  void go(std::stop_token stop = {});
  /// Asks for a checkpoint. From any thread, while the run goes on.
  void checkpoint();
  /// Asks nodes that can to go on in new files. From any thread.
  void rotate();
  /// Whether there are any.
  bool rotates() const;
  /// Whether all sources are live: a stop ends such a run in good order.
  bool live() const;

  /// Whose error it was; empty: no node's.
  const std::string& failed_node() const;
  Node& node(const std::string& name) const;
  /// Of all nodes, as "node.counter"; also "node.dropped_blocks" where blocks were dropped.
  Counters counters() const;
  /// Node::files() of those that have any, by the node's name; after go().
  std::map<std::string, std::vector<std::string>> files() const;
  /// Node::findings() of all nodes; after go().
  std::string findings() const;
  Profile profile() const;
  /// As the run is now. From any thread, also before and after go().
  Snapshot snapshot() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tautline::engine
