// Prepares a run from a graph: opens the nodes, inserts copies between host and devices, and makes lanes and rings.
#pragma once

#include <memory>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/engine/member.h"
#include "tautline/engine/planned_node.h"

namespace tautline::engine {

struct Opened {
  std::vector<std::unique_ptr<Member>> members;  ///< producers come before consumers
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<PlannedNode> plan;
};

/// Opens every node, in the order of the graph; allocates nothing. Throws Error(config), and NodeError for the nodes'
/// exceptions.
Opened open(Graph graph, RunControl& control);

}  // namespace tautline::engine
