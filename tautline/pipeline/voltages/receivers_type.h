// The node `receivers`: voltages over TCP from receivers that connect.
#pragma once

#include "tautline/pipeline/node_type.h"

namespace tautline::pipeline {

NodeType receivers_node_type();

}  // namespace tautline::pipeline
