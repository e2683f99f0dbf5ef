// The plans of the stage's backends: not part of the stage's interface.
#pragma once

#include <memory>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/sizes.h"
#include "tautline/stages/detect/tunables.h"

namespace tautline::stages::detect {

/// Keeps the whole stream and searches it at finish, in plain loops; the definition.
std::shared_ptr<const Plan> make_reference_plan(const Config& config);

/// The plan on CPUs (vnni and amx run the code of avx512).
std::shared_ptr<const Plan> make_cpu_plan(const Config& config, const device::Device& device,
                                          const Tunables& tunables);

/// The plan on GPUs, for a device that compiles kernels.
std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables);

}  // namespace tautline::stages::detect
