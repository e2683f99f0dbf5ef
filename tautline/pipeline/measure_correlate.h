// Correlation as a problem with sizes.
//
// | size     | meaning                                                                   |
// | inputs   | antennas times polarisations                                              |
// | channels |                                                                           |
// | samples  | times of a block                                                          |
// | bits     | of a component: 4, 8, 16, 32 (float)                                      |
// | half     | 1: 16 bits are floats                                                     |
// | blocks   | of an integration: sums are held between more than one (measurements)     |
// | design   | of GPUs: 0 the fastest, 1 tiled, 2 mma, 3 wgmma (measurements)            |
// | held     | 1: as with several blocks (tuning)                                        |
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

/// An integration, its samples where the device computes.
Measurement measure_correlate(const Problem& sizes,
                              const std::shared_ptr<const device::Device>& device,
                              const Limits& limits, double budget_s);

jit::Tunable tune_correlate(const Problem& sizes,
                            const std::shared_ptr<const device::Device>& device);

}  // namespace tautline::pipeline
