// The correlator's interface to the tuner, for devices that compile kernels.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

/// Sums config.max_samples random samples of full range, from and into device memory. Candidates
/// are checked against the CPU's sums, exactly for integers. Throws Error(config) for a bad config,
/// and Error(unsupported) for a device that does not compile kernels.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::correlate
