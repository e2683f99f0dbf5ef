// The nodes of this room that pipeline files can be made of.
#pragma once

#include <vector>

#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

std::vector<NodeType> simulation_node_types();

}  // namespace tautline::pipeline
