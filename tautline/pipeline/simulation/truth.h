// X.truth.json: the sources, delays and powers that a correlator should find in simulated voltages.
// docs/guide/simulate.md describes the schema.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tautline/pipeline/simulation/plan.h"

namespace tautline::pipeline::simulation {

/// Arrays of more antennas list no baselines: their delays are the differences of the antennas'.
inline constexpr std::size_t kMostListedAntennas = 300;

struct SimulationOutcome {
  std::vector<std::uint64_t> clipped;  ///< components of each input
  std::vector<std::string> files;
  std::string history;
};

/// The file's text.
std::string truth_json(const SimulationPlan& plan, const SimulationOutcome& outcome);

}  // namespace tautline::pipeline::simulation
