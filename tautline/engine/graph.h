// Nodes and the edges between them: the input of a Run.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/node.h"

namespace tautline::engine {

/// The policy for a block when a ring is full.
enum class Policy {
  wait,         ///< its producer waits
  drop_oldest,  ///< the oldest block in the ring that is not being read is dropped and counted
  drop_newest   ///< the block itself is given up and counted
};

struct EdgeOptions {
  /// Blocks that wait for the consumer or are read by it. Unused for edges between nodes of one lane.
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
  /// Throws Error(config) when a node of that name exists.
  NodeId add(std::string name, std::unique_ptr<Node> node);
  /// One output may have several edges, one input only one. Throws Error(config) when `to` is connected.
  void connect(Port from, Port to, EdgeOptions options = {});
  /// Runs a node on the thread `lane`. By default sources and sinks have a lane each, and stages one for each device.
  void set_lane(NodeId node, std::string lane);

  struct Member {
    std::string name;
    std::unique_ptr<Node> node;
    std::string lane;  ///< empty: not set
  };
  const std::vector<Member>& members() const { return members_; }
  const std::vector<Edge>& edges() const { return edges_; }
  /// The members, ordered so that producers come before consumers. Throws Error(config) for a circle of edges, an
  /// unconnected input between connected ones, and a graph without a source.
  std::vector<NodeId> order() const;
  std::size_t inputs_of(NodeId node) const;

 private:
  friend class Opening;
  std::vector<Member> members_;
  std::vector<Edge> edges_;
};

}  // namespace tautline::engine
