// The filter bank as something to tune, on a device that compiles.
#pragma once

#include <memory>

#include "tautline/jit/tunable.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

/// Random samples in device memory, config.max_samples of every input in one call, to results in
/// device memory; checked against the CPU's, within case.h's tolerance. Throws Error(config) for a
/// bad config, and Error(unsupported) for a device that compiles nothing.
jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::channelize
