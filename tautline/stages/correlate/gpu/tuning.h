// The tuning space of the GPU correlator, and plans with tuned configurations.
#pragma once

#include <memory>

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// The key of a tuned configuration: device, kernel text, format and sizes (inputs, channels,
/// samples).
jit::TuningKey tuning_key(const Config& config, const device::Device& device);

/// The tunables that change the speed on data in device memory, with the values that this device
/// and config allow.
jit::Space tuning_space(const Config& config, const device::Device& device);

GpuTunables tunables_of(const jit::Configuration& configuration);

/// A plan with the configuration that the user's wisdom has for the config. Takes the default
/// configuration if there is none, or, with a warning, if it does not build. Plan::backend() says
/// which was taken.
std::shared_ptr<const Plan> make_tuned_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::correlate::gpu
