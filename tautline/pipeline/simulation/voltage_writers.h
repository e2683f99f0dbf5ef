// Writers of simulated voltages: a DADA file, or the files of an MWA prototype's receivers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/pipeline/simulation/output_node.h"
#include "tautline/pipeline/simulation/plan.h"

namespace tautline::pipeline::simulation {

/// Of "raw voltages" as SimulatedVoltages gives them.
std::unique_ptr<OutputWriter> make_dada_writer(const SimulationPlan& plan, const std::string& path,
                                               bool overwrite);

/// Files with 16 inputs each. Missing spans of all inputs of a receiver are gaps in its counter.
std::unique_ptr<OutputWriter> make_mwa32t_writer(const SimulationPlan& plan,
                                                 const std::vector<std::string>& files,
                                                 bool one_byte, bool overwrite);
/// PATH.0, PATH.1, ... one for each receiver. Throws Error(config) unless the inputs make 1 to 4 whole receivers of
/// complex samples.
std::vector<std::string> mwa32t_files(const SimulationPlan& plan, const std::string& path);

/// The largest step that the MWA's samples hold: 15 with 5 bits (two-byte mode), 7 with 4.
int mwa32t_limit(bool one_byte);

}  // namespace tautline::pipeline::simulation
