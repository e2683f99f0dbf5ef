// Questions about a graph that is still being built: the stream at an output, the nodes before it.
#pragma once

#include <string>
#include <vector>

#include "tautline/engine/graph.h"

namespace tautline::pipeline {

/// What a consumer will be given at an output, less the memory that it lies in: opens the nodes before it, which make
/// their plans then. Throws what they throw.
engine::Stream stream_at(const engine::Graph& graph, const engine::Port& output);

struct NamedNode {
  std::string name;
  const engine::Node* node = nullptr;
};
/// The nodes from which blocks come to an output, its own among them, in the order in which they were added. A run
/// takes them over; they live as long as it does.
std::vector<NamedNode> nodes_before(const engine::Graph& graph, const engine::Port& output);

}  // namespace tautline::pipeline
