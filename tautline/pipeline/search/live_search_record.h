// The JSON record beside the list of candidates of a live search.
#pragma once

#include <string>
#include <vector>

#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/search_plan.h"

namespace tautline::pipeline {

/// JSON: trials, boxcars, latency, the stretches that were searched, what was masked, and the counters of the nodes
/// before the list.
std::string live_search_record(const SearchPlan& plan, const CandidateSinkNode& sink,
                               const std::vector<NamedNode>& nodes, const device::Device& device);

}  // namespace tautline::pipeline
