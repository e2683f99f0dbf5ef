// The Config of simulated filterbanks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/formats/scene/filterbank_scene.h"

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

}  // namespace tautline::pipeline
