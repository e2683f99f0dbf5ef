// Callbacks for a monitor, which adds sinks to a graph before it opens and watches its run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tautline::engine {
class Graph;
class Run;
}  // namespace tautline::engine

namespace tautline::pipeline {

struct RunWatch {
  /// Told before the graph opens; may add sinks to these nodes, whose results are worth drawing.
  std::function<void(engine::Graph& graph, const std::vector<std::string>& drawn)> prepare = {};
  /// Told before the run goes. What it returns is kept until the run has ended.
  std::function<std::shared_ptr<void>(const engine::Run& run)> begin = {};
};

}  // namespace tautline::pipeline
