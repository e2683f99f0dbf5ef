// Simulated photons: particles that diffuse through Gaussian foci, with the truth beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "tautline/engine/profile.h"
#include "tautline/pipeline/simulation/simulate_photons_config.h"

namespace tautline::pipeline {

struct SimulatePhotonsSummary {
  std::string file, truth_path;
  std::uint64_t bins = 0;     ///< 0 for time tags
  std::uint64_t photons = 0;  ///< of all sensors
  double stream_s = 0, elapsed_s = 0;
  std::size_t memory_bytes = 0;
  engine::Profile profile;
};

/// Part done, 0 to 1.
using SimulatePhotonsProgress = std::function<void(double)>;

/// Writes counts [time][sensor] ([time][row][column] with a shape) of u8 or u16, or time tags whose
/// detectors are the sensors, and X.truth.json. Throws Error(config) naming the field,
/// Error(memory) when the cap is too small, Error(io, "interrupted") when stopped; nothing
/// half-written is left.
SimulatePhotonsSummary simulate_photons(const SimulatePhotonsConfig& config,
                                        const SimulatePhotonsProgress& progress = {},
                                        std::stop_token stop = {});

}  // namespace tautline::pipeline
