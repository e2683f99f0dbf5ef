// The node `packets`: voltages over UDP in packets of any layout.
#pragma once

#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

NodeType packets_node_type();

}  // namespace tautline::pipeline
