// The tuning space of the filter bank on GPUs, and plans with tuned configurations.
#pragma once

#include <memory>

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// The key of a tuned configuration: device, kernel text, format and output, and sizes (inputs,
/// channels, taps, samples, hop in samples).
jit::TuningKey tuning_key(const Bank& bank, const device::Device& device);

/// The tunables that change the speed on data in device memory, with the values that this device
/// and bank allow.
jit::Space tuning_space(const Bank& bank, const device::Device& device);

GpuTunables tunables_of(const jit::Configuration& configuration);

/// A plan with the configuration that the user's wisdom has for the bank. Takes the default
/// configuration if there is none, or, with a warning, if it does not build. Plan::backend() says
/// which was taken.
std::shared_ptr<const Plan> make_tuned_plan(std::shared_ptr<const Bank> bank,
                                            std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::channelize::gpu
