#include "tautline/pipeline/photons/node_types.h"

#include "tautline/pipeline/graph_file/graph_file.h"
#include "tautline/pipeline/search/node_types.h"
#include "tautline/pipeline/simulation/node_types.h"
#include "tautline/pipeline/voltages/node_types.h"

namespace tautline::pipeline {

std::vector<NodeType> node_types() {
  std::vector<NodeType> all = voltage_node_types();
  for (NodeType& type : filterbank_node_types()) all.push_back(std::move(type));
  for (NodeType& type : photon_node_types()) all.push_back(std::move(type));
  for (NodeType& type : simulation_node_types()) all.push_back(std::move(type));
  return all;
}

}  // namespace tautline::pipeline
