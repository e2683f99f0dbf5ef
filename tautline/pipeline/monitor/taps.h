// Sinks that draw results for the monitor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"

namespace tautline::pipeline::monitor {

class Tapped;

/// Draws the results of all nodes of the graph that have these names and an output: a sink beside the others of each,
/// which nothing waits for.
std::vector<std::shared_ptr<Tapped>> add_taps(engine::Graph& graph,
                                              const std::vector<std::string>& nodes);

/// Whether a node's name, or that of its counter, is one of these sinks', which are no part of the user's pipeline.
bool is_tap(const std::string& node);

}  // namespace tautline::pipeline::monitor
