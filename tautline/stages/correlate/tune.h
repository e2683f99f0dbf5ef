// The correlator as something to tune, on a device that compiles.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

/// Random samples of full range in device memory, config.max_samples of them, summed into device
/// memory; checked against the CPU's sums, exactly for integers. Throws Error(config) for a bad
/// config, and Error(unsupported) for a device that compiles nothing.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::correlate
