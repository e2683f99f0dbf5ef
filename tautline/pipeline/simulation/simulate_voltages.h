// Simulated antenna voltages: sky sources, tones and noise on an array, with the truth beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/engine/profile.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/scene/scene.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/simulation/simulate_voltages_config.h"

namespace tautline::pipeline {

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
