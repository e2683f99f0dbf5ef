// The corner turn as a problem with sizes: inputs, channels, spectra of a call, and the bits of a
// component of what is written (4 and 8 requantised, 32 float).
#pragma once

#include <memory>

#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

/// One call, its spectra where the device computes.
Measurement measure_corner_turn(const Problem& sizes,
                                const std::shared_ptr<const device::Device>& device,
                                const Limits& limits, double budget_s);

}  // namespace tautline::pipeline
