// What tuning may choose in the GPU correlator, and what it has found.
#pragma once

#include <memory>
#include <string>

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// What a result holds for: device, kernel text, format and sizes (inputs, channels, samples).
jit::TuningKey tuning_key(const Config& config, const device::Device& device);

/// The tunables that change speed on data in device memory, and which of them fit this device.
jit::Space tuning_space(const Config& config, const device::Device& device);

GpuTunables tunables_of(const jit::Configuration& configuration);

/// The plan with the tunables that the user's wisdom has for the config; the defaults when it has
/// none, or, with a warning, when what it has does not build. Plan::backend() says which.
std::shared_ptr<const Plan> make_tuned_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::correlate::gpu
