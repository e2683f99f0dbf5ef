#include "tautline/pipeline/voltages/node_types.h"

#include "tautline/pipeline/graph_file/graph_file.h"

namespace tautline::pipeline {

std::vector<NodeType> node_types() {
  return voltage_node_types();
}

}  // namespace tautline::pipeline
