// Writers of simulated photons: counts in a NPY or raw file, or time tags in a PTU file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/pipeline/simulation/output_node.h"
#include "tautline/pipeline/simulation/photon_source.h"

namespace tautline::pipeline::simulation {

/// The ticks of a run, which depend on the output.
struct PhotonClock {
  double tick_s = 0;
  std::uint64_t ticks_per_bin = 1;  ///< counts; of time tags: 1
  std::uint64_t bins = 0;           ///< counts only
  std::uint64_t ticks = 0;          ///< in the run
};

/// The payload of blocks of kind "simulated photons", which count steps of PhotonSource and have no arrays.
struct SimulatedPhotons {
  std::vector<std::vector<SourcePhoton>> sensors;  ///< each in order of time
  std::uint64_t end_tick = 0;                      ///< after the block; of a whole block
};

/// Counts of `bits` (8 or 16). Throws Error(config) where a bin holds more.
std::unique_ptr<OutputWriter> make_count_writer(const std::string& path, const PhotonClock& clock,
                                                const std::vector<std::uint64_t>& sensor_shape,
                                                int bits, bool npy, bool overwrite);

/// PTU records of HydraHarp v2: T3 with `sync_rate_hz`, or T2 when that is 0.
std::unique_ptr<OutputWriter> make_tag_writer(const std::string& path, const PhotonClock& clock,
                                              std::size_t sensors, double sync_rate_hz,
                                              double microtime_unit_s, bool overwrite);

}  // namespace tautline::pipeline::simulation
