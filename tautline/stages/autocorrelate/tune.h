// The autocorrelator's interface to the tuner, for devices that compile kernels.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// Measures calls of config.max_samples random counts per sensor from device memory, into one
/// continuing state. Sums are checked against the CPU backend. Throws Error(config) for a bad
/// config, and Error(unsupported) for a device that does not compile kernels.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::autocorrelate
