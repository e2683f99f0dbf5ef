// The search for pulses as a problem with sizes: its last stage alone, and all of it.
//
// | size      | meaning                                                               |
// | trials    | of each beam                                                          |
// | samples   | times of a block; of `search` a power of two                          |
// | rate_hz   | samples a second                                                      |
// | width_ms  | widest boxcar, in thousandths of a second                             |
// | float     | 1: series of floats (`detect`)                                        |
// | beams     | searched at once (`search`)                                           |
// | zero_dm   | 1: less the mean over channels at each time (`search`)                |
//
// `search` has the sizes of dedisperse too (measure_dedisperse.h).
#pragma once

#include <memory>

#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

/// One block of noise in the middle of a stream, where the device computes.
Measurement measure_detect(const Problem& sizes,
                           const std::shared_ptr<const device::Device>& device,
                           const Limits& limits, double budget_s);

/// One block of the spectra of all beams, in the device's memory, to lists of pulses: cleaned,
/// dedispersed, searched and grouped (search_pass.h). Throws Error(memory) where the trials of all
/// beams do not fit into the memory at once.
Measurement measure_search(const Problem& sizes,
                           const std::shared_ptr<const device::Device>& device,
                           const Limits& limits, double budget_s);

}  // namespace tautline::pipeline
