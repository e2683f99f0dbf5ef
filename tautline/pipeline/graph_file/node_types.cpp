#include "tautline/pipeline/graph_file/graph_file.h"

namespace tautline::pipeline {

std::vector<NodeType> node_types() {
  return {};
}

}  // namespace tautline::pipeline
