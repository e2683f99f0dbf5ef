// The nodes between a source of voltages and an output, and their facts for the output.
#pragma once

#include <cstdint>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/visibilities_node.h"
#include "tautline/pipeline/voltages/voltage_facts.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

/// The nodes of one source; they live as long as the graph's run.
struct VoltageNodes {
  const VoltageSourceNode* source = nullptr;
  std::vector<const FEngineNode*> f_engines;       ///< one a device
  const VisibilitiesNode* visibilities = nullptr;  ///< null: the output is not of visibilities
};
/// The nodes before an output of `graph`. Throws Error(config) where its samples come from no source or several.
VoltageNodes voltage_nodes(const engine::Graph& graph, const engine::Port& output);

/// Components clipped, [input].
std::vector<std::uint64_t> clipped_by(const VoltageNodes& nodes);
/// Components that each input has in the spectra of the run.
std::uint64_t components_of(const VoltageNodes& nodes);

/// For the sinks of a graph, which do not know its nodes: once the run has ended.
VoltageFacts facts_of(const VoltageNodes& nodes);

}  // namespace tautline::pipeline
