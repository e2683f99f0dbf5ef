// Simulated antenna voltages: sky sources, tones and noise on an array, with the truth beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/engine/profile.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/scene/scene.h"
#include "tautline/pipeline/progress.h"

namespace tautline::pipeline {

enum class SimulateFormat {
  dada,   ///< one file, order TFAP
  mwa32t  ///< PATH.0 to PATH.3, one for each receiver of the MWA's 32-antenna prototype
};

struct SimulateConfig {
  std::string array_path;   ///< array.toml: antennas and inputs
  std::string scene_path;   ///< scene.toml: sky, tones, noise and band
  std::string output;       ///< X.dada; or the beginning of the names of the receivers' files
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

struct SimulateSummary {
  std::size_t inputs = 0;
  std::uint64_t samples = 0;  ///< of each input
  std::uint64_t clipped = 0;  ///< components of all inputs
  double elapsed_s = 0, stream_s = 0;
  std::size_t memory_bytes = 0;
  std::vector<std::string> files;
  std::string truth_path;
  engine::Profile profile;
};

/// The name of the truth file: X.truth.json for X.dada, NAME.truth.json for NAME.
std::string truth_path(const std::string& output);

/// Reads the array and the scene, writes the voltages and then the truth. Throws core::Error; a
/// file gets its final name only when it is whole. Stopping throws Error(io, "interrupted").
/// Progress comes from one thread at a time.
SimulateSummary simulate_voltages(const SimulateConfig& config,
                                  const ProgressCallback& progress = {}, std::stop_token stop = {});

/// The same with the array and the scene in memory; config's two paths are ignored.
SimulateSummary simulate_voltages(const SimulateConfig& config, const formats::ArrayLayout& array,
                                  const formats::scene::Scene& scene,
                                  const ProgressCallback& progress = {}, std::stop_token stop = {});

}  // namespace tautline::pipeline
