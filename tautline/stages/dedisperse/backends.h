// Who makes plans: not part of the stage's interface.
#pragma once

#include <memory>

#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/plan/problem.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// Sums `delays`, which Method::subband may have changed.
std::shared_ptr<const Plan> make_reference_plan(std::shared_ptr<const Problem> problem,
                                                Delays delays, Choice choice);
std::shared_ptr<const Plan> make_cpu_plan(std::shared_ptr<const Problem> problem,
                                          const device::Device& device, const Tunables& tunables);
std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const Problem> problem,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables);

}  // namespace tautline::stages::dedisperse
