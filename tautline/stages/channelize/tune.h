// What the tuner runs: the filter bank on a device that compiles kernels.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

/// Channelizes config.max_samples random samples of every input in one call, from and into device
/// memory. Candidates are checked against the CPU's results, within case.h's tolerance. Throws
/// Error(config) for a bad config, and Error(unsupported) for a device that does not compile
/// kernels.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::channelize
