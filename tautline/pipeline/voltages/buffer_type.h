// The type of node "buffer" of pipeline files.
#pragma once

#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

NodeType buffer_node_type();

}  // namespace tautline::pipeline
