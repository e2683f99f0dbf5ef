#include "tautline/engine/graph.h"

#include <algorithm>

#include "tautline/core/error.h"

namespace tautline::engine {

namespace {

[[noreturn]] void refuse(const std::string& field, std::string value, std::string limit) {
  throw core::Error(core::ErrorKind::config, field, std::move(value), std::move(limit));
}

std::string named(const Graph::Member& member, std::size_t port) {
  return member.name + ", input " + std::to_string(port);
}

}  // namespace

NodeId Graph::add(std::string name, std::unique_ptr<Node> node) {
  for (const Member& member : members_)
    if (member.name == name) refuse("node", name, "names that differ");
  members_.push_back({std::move(name), std::move(node), {}});
  return members_.size() - 1;
}

void Graph::connect(Port from, Port to, EdgeOptions options) {
  if (std::max(from.node, to.node) >= members_.size())
    refuse("edge", "node " + std::to_string(std::max(from.node, to.node)), "nodes of this graph");
  for (const Edge& edge : edges_)
    if (edge.to.node == to.node && edge.to.port == to.port)
      refuse(named(members_[to.node], to.port), "connected twice", "one edge an input");
  if (options.depth == 0) refuse(named(members_[to.node], to.port) + ": depth", "0", "1 or more");
  edges_.push_back({from, to, options});
}

void Graph::set_lane(NodeId node, std::string lane) {
  members_.at(node).lane = std::move(lane);
}

std::size_t Graph::inputs_of(NodeId node) const {
  return static_cast<std::size_t>(std::count_if(edges_.begin(), edges_.end(),
                                                [&](const Edge& e) { return e.to.node == node; }));
}

std::vector<NodeId> Graph::order() const {
  std::vector<std::size_t> left(members_.size());
  std::vector<NodeId> order;
  for (NodeId node = 0; node < members_.size(); ++node) {
    left[node] = inputs_of(node);
    if (left[node] == 0) order.push_back(node);
    for (const Edge& edge : edges_)
      if (edge.to.node == node && edge.to.port >= left[node])
        refuse(named(members_[node], edge.to.port),
               std::to_string(left[node]) + " connected inputs",
               "inputs numbered from 0 without holes");
  }
  for (std::size_t k = 0; k < order.size(); ++k)
    for (const Edge& edge : edges_)
      if (edge.from.node == order[k] && --left[edge.to.node] == 0) order.push_back(edge.to.node);
  if (order.size() < members_.size()) {
    const auto stuck = std::find_if(left.begin(), left.end(), [](std::size_t n) { return n > 0; });
    refuse(
        "graph",
        "edges that go round through " + members_[static_cast<NodeId>(stuck - left.begin())].name,
        "a graph without circles");
  }
  if (members_.empty()) refuse("graph", "no nodes", "a source at least");
  return order;
}

}  // namespace tautline::engine
