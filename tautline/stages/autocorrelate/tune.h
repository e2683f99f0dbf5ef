// The autocorrelator as something to tune, on a device that compiles.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

/// Counts of every size in device memory, config.max_samples of every sensor a call, into a state
/// that goes on; sums are checked against the CPU's. Throws Error(config) for a bad config, and
/// Error(unsupported) for a device that compiles nothing.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::autocorrelate
