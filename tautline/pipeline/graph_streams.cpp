#include "tautline/pipeline/graph_streams.h"

#include <fmt/format.h>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/engine/run.h"

namespace tautline::pipeline {

engine::Stream stream_at(const engine::Graph& graph, const engine::Port& output) {
  std::vector<engine::Stream> inputs(graph.inputs_of(output.node));
  for (const engine::Edge& edge : graph.edges())
    if (edge.to.node == output.node) inputs[edge.to.port] = stream_at(graph, edge.from);
  const engine::Graph::Member& member = graph.members()[output.node];
  std::vector<engine::Stream> streams;
  try {
    streams = member.node->open(inputs);
  } catch (const core::Error& error) {
    throw engine::NodeError(member.name, error);
  }
  if (output.port >= streams.size())
    throw core::Error(core::ErrorKind::config, member.name + ": output",
                      std::to_string(output.port),
                      fmt::format("a number below {}: it has {}", streams.size(),
                                  core::counted(streams.size(), "output")));
  return streams[output.port];
}

std::vector<NamedNode> nodes_before(const engine::Graph& graph, const engine::Port& output) {
  std::vector<bool> before(graph.members().size());
  before[output.node] = true;
  // As often as a path may be long.
  for (std::size_t k = 0; k < graph.members().size(); ++k)
    for (const engine::Edge& edge : graph.edges())
      if (before[edge.to.node]) before[edge.from.node] = true;
  std::vector<NamedNode> nodes;
  for (engine::NodeId node = 0; node < before.size(); ++node)
    if (before[node])
      nodes.push_back({graph.members()[node].name, graph.members()[node].node.get()});
  return nodes;
}

}  // namespace tautline::pipeline
