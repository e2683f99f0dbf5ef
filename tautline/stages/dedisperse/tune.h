// Dedispersion's interface to the tuner, for devices that compile kernels.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

/// Random samples of every code in device memory, summed exactly into device memory by calls of
/// config.max_samples in the middle of a stream; checked against the CPU's sums. Throws
/// Error(config) for a bad config, and Error(unsupported) for a device that compiles nothing.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::dedisperse
