// The Config of simulated antenna voltages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tautline/core/fields.h"

namespace tautline::pipeline {

enum class SimulateFormat {
  dada,   ///< one file, order TFAP
  mwa32t  ///< PATH.0 to PATH.3, one for each receiver of the MWA's 32-antenna prototype
};

struct SimulateConfig {
  std::string array_path;   ///< array.toml: antennas and inputs
  std::string scene_path;   ///< scene.toml: sky, tones, noise and band
  std::string output;       ///< X.dada; or what the receivers' files begin with
  double duration_s = 1.0;  ///< seconds of voltages, rounded to a sample
  int bits = 8;             ///< of each component: 4, 8 or 16 (mwa32t: 4, or 8 for its 5)
  bool real = false;        ///< real samples at twice the bandwidth instead of complex ones
  std::uint64_t seed = 0;   ///< the same seed gives the same file on any number of threads
  SimulateFormat format = SimulateFormat::dada;       ///< file format
  bool overwrite = false;                             ///< replace existing files
  std::size_t threads = 0;                            ///< 0: as many as the process may use
  std::size_t memory_bytes = core::half_of_memory();  ///< cap on what the run allocates
  std::string history;                                ///< version and command line, for the truth
};
const core::Fields<SimulateConfig>& fields(const SimulateConfig&);

}  // namespace tautline::pipeline
