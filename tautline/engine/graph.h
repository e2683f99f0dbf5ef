// Nodes and the edges between them: what a Run runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/node.h"

namespace tautline::engine {

/// What happens to a block for which a ring has no room.
enum class Policy {
  wait,         ///< its producer waits
  drop_oldest,  ///< the oldest block of the ring that nobody reads is given up and counted
  drop_newest   ///< the block itself is given up and counted
};

struct EdgeOptions {
  /// Blocks that wait for the consumer or are read by it. Of edges between nodes of one lane without meaning.
  std::size_t depth = 2;
  Policy policy = Policy::wait;
};

using NodeId = std::size_t;

/// An input or an output of a node.
struct Port {
  NodeId node = 0;
  std::size_t port = 0;
  Port(NodeId of, std::size_t number = 0)
      : node(of), port(number) {}  // NOLINT(google-explicit-constructor)
};

struct Edge {
  Port from, to;
  EdgeOptions options;
};

class Graph {
 public:
  /// Throws Error(config) when there is a node of that name.
  NodeId add(std::string name, std::unique_ptr<Node> node);
  /// Several edges may leave one output, and one ends at each input. Throws Error(config) when `to` is connected.
  void connect(Port from, Port to, EdgeOptions options = {});
  /// Runs a node on the thread `lane`. Otherwise sources and sinks have a lane each, and stages one for each device.
  void set_lane(NodeId node, std::string lane);

  struct Member {
    std::string name;
    std::unique_ptr<Node> node;
    std::string lane;  ///< empty: not set
  };
  const std::vector<Member>& members() const { return members_; }
  const std::vector<Edge>& edges() const { return edges_; }
  /// The members so that producers come before consumers. Throws Error(config) when edges go round, an input between
  /// connected ones is not connected, or there is no source.
  std::vector<NodeId> order() const;
  std::size_t inputs_of(NodeId node) const;

 private:
  friend class Opening;
  std::vector<Member> members_;
  std::vector<Edge> edges_;
};

}  // namespace tautline::engine
