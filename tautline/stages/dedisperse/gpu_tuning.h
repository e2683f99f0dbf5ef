// The GPU kernel's tunables as something to search, and plans with what a search found.
#pragma once

#include <memory>

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/dedisperse/problem.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

jit::TuningKey tuning_key(const Problem& problem, const device::Device& device);
/// Levels of shared sums are in it unless `method` is exact.
jit::Space tuning_space(const device::Device& device, Method method);
GpuTunables tunables_of(const jit::Configuration& configuration);

/// What tuning found for this problem or the nearest, else the defaults.
std::shared_ptr<const Plan> make_tuned_gpu_plan(std::shared_ptr<const Problem> problem,
                                                std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::dedisperse
