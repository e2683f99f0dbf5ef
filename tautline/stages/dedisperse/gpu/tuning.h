// The tuning key and the search space of the GPU kernels, and plans with tuned configurations.
#pragma once

#include <memory>

#include "tautline/jit/space.h"
#include "tautline/jit/tunable.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// What a plan sums by where nothing is told but its Config: exact, shared or subband, by counting.
Method method_that_runs(const DelayPlan& problem, const device::Device& device);
/// A winner serves plans that run the same method, `runs`, alone.
jit::TuningKey tuning_key(const DelayPlan& problem, const device::Device& device, Method runs);
/// `problem` as a candidate sums it: shared sums where the configuration asks for them, else
/// `runs`. A plan that takes the configuration over sums by the same method as when it was timed.
std::shared_ptr<const DelayPlan> problem_of_candidate(std::shared_ptr<const DelayPlan> problem,
                                                      Method runs, const GpuTunables& tunables);
/// Levels of shared sums are in it unless `method` is exact.
jit::Space tuning_space(const device::Device& device, Method method);
GpuTunables tunables_of(const jit::Configuration& configuration);

/// What tuning found for this problem or one near it (jit::choose), else the defaults.
std::shared_ptr<const Plan> make_tuned_gpu_plan(std::shared_ptr<const DelayPlan> problem,
                                                std::shared_ptr<const device::Device> device);

}  // namespace tautline::stages::dedisperse
