// A simulated filterbank: noise, dispersed pulses and interference, with the truth beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/scene/filterbank_scene.h"
#include "tautline/pipeline/simulation/simulate_voltages.h"

namespace tautline::pipeline {

/// `count` pulses, evenly spaced over the run (each within the middle half of its share), whose
/// parameters are drawn evenly from [low, high].
struct RandomPulses {
  std::size_t count = 0;
  double dm_low = 0, dm_high = 0;
  double width_s_low = 0, width_s_high = 0;
  double snr_low = 0, snr_high = 0;
};

/// "count=100,dm=0:500,width=0.001:0.01,snr=8:20"; one number stands for both ends. Throws
/// Error(config).
RandomPulses parse_random_pulses(const std::string& text);

struct SimulateFilterbankConfig {
  formats::scene::FilterbankScene scene;
  RandomPulses random_pulses;
  std::string output;             ///< X.fil; the truth goes to X.truth.json
  double duration_s = 1.0;        ///< seconds, rounded to a sample
  std::uint64_t seed = 0;         ///< the same seed gives the same file on any number of threads
  double dm_constant = 4148.808;  ///< s MHz^2 per pc cm^-3
  bool overwrite = false;
  std::size_t threads = 0;                            ///< 0: as many as the process may use
  std::size_t memory_bytes = core::half_of_memory();  ///< cap on what the run allocates
  std::string history;                                ///< version and command line, for the truth
};
const core::Fields<SimulateFilterbankConfig>& fields(const SimulateFilterbankConfig&);

struct SimulateFilterbankSummary {
  std::size_t channels = 0, pulses = 0;
  std::size_t pulses_cut = 0;  ///< pulses that are only in part in the file
  std::uint64_t samples = 0;
  std::uint64_t clipped = 0;  ///< values outside the range of the bits
  double elapsed_s = 0, stream_s = 0;
  std::size_t memory_bytes = 0;
  std::string file, truth_path;
  engine::Profile profile;
};

/// Writes the filterbank and then the truth. The same seed gives the same bytes, and a longer run
/// begins with a shorter one's samples where its pulses are the same. Throws core::Error; a file
/// gets its final name only when it is whole. Stopping throws Error(io, "interrupted").
SimulateFilterbankSummary simulate_filterbank(const SimulateFilterbankConfig& config,
                                              const ProgressCallback& progress = {},
                                              std::stop_token stop = {});

/// The same samples as a reader; `output` is not used. Throws core::Error.
std::unique_ptr<formats::FilterbankReader> open_simulated_filterbank(
    const SimulateFilterbankConfig& config);

/// X.truth.json for X.fil, NAME.truth.json for NAME.
std::string filterbank_truth_path(const std::string& output);

}  // namespace tautline::pipeline
