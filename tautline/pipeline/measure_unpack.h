// Unpacking as a problem with sizes: inputs, channels, samples of each, and the bits of a component.
#pragma once

#include <memory>

#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

/// A block in host memory: to a device it has to be carried.
Measurement measure_unpack(const Problem& sizes,
                           const std::shared_ptr<const device::Device>& device,
                           const Limits& limits, double budget_s);

}  // namespace tautline::pipeline
