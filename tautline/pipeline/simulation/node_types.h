// The types of nodes of this folder that pipeline files can name.
#pragma once

#include <vector>

#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

std::vector<NodeType> simulation_node_types();

}  // namespace tautline::pipeline
