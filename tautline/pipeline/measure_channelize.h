// The filter bank as a problem with sizes.
//
// | size        | meaning                                                                     |
// | inputs      | antennas times polarisations                                                |
// | channels    | of each                                                                     |
// | taps        | of the filter                                                               |
// | spectra     | of a call                                                                   |
// | bits        | of a component of the input: 4, 8, 16, 32 (float)                           |
// | output_bits | 4, 8: corner-turned and requantised; 32: float spectra                      |
// | design      | of GPUs: 0 the fastest, 1 fused, 2 split, 3 separate (measurements)         |
#pragma once

#include <memory>
#include <string_view>

#include "tautline/jit/tunable.h"
#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

/// One call in the middle of a stream, its samples where the device computes.
Measurement measure_channelize(const Problem& sizes,
                               const std::shared_ptr<const device::Device>& device,
                               const Limits& limits, double budget_s);

jit::Tunable tune_channelize(const Problem& sizes,
                             const std::shared_ptr<const device::Device>& device);

/// "c1024t8": channels and taps. Empty for other words.
Problem filter_bank_words(std::string_view word);

}  // namespace tautline::pipeline
