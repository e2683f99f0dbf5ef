// What tuning may choose in the filter bank on GPUs, and what it has found.
#pragma once

#include <memory>

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// What a result holds for: device, kernel text, format and output, and sizes (inputs, channels,
/// taps, samples, hop in samples).
jit::TuningKey tuning_key(const Bank& bank, const device::Device& device);

/// The tunables that change speed on data in device memory, and which of them fit this device.
jit::Space tuning_space(const Bank& bank, const device::Device& device);

GpuTunables tunables_of(const jit::Configuration& configuration);

/// The plan with the tunables that the user's wisdom has for the bank; the defaults when it has
/// none, or, with a warning, when what it has does not build. Plan::backend() says which.
std::shared_ptr<const Plan> make_tuned_plan(std::shared_ptr<const Bank> bank,
                                            std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::channelize::gpu
