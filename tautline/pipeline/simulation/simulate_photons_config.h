// The Config of simulated photons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/pipeline/simulation/photon_source.h"

namespace tautline::pipeline {

struct SimulatePhotonsConfig {
  std::string output;       ///< X.npy; X.ptu for time tags; any other name: counts without a header
  std::size_t sensors = 1;  ///< each with a focus and particles of its own
  std::size_t rows = 0, columns = 0;  ///< the sensors' shape; 0: none. rows x columns = sensors
  double duration_s = 1;              ///< rounded down to whole bins
  double bin_s = 1e-5;                ///< of counts; not used for time tags
  int bits = 8;                       ///< of one count: 8 or 16
  simulation::PhotonModel model;
  std::vector<std::size_t> hot_sensors;  ///< that count `hot_rate_hz` more
  double hot_rate_hz = 0;
  bool t3 = true;             ///< time tags: T3 (HydraHarp v2), else T2
  double sync_rate_hz = 2e7;  ///< T3: pulses a second
  std::uint64_t seed = 0;     ///< the same seed gives the same file on any number of threads
  bool overwrite = false;
  std::size_t threads = 0;                            ///< 0: as many as the process may use
  std::size_t memory_bytes = core::half_of_memory();  ///< cap on what the run allocates
  std::string history;                                ///< version and command line, for the truth
};
const core::Fields<SimulatePhotonsConfig>& fields(const SimulatePhotonsConfig&);

/// "diffusion:n=5,tau=1e-4,rate=2e4", optionally with kappa: adds a species to `model`. Throws
/// Error(config) that names the key.
void parse_photon_model(const std::string& text, simulation::PhotonModel& model);

}  // namespace tautline::pipeline
