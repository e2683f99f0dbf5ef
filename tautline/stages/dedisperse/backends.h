// Who makes plans: not part of the stage's interface.
#pragma once

#include <memory>

#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

std::shared_ptr<const Plan> make_reference_plan(std::shared_ptr<const DelayPlan> plan);
std::shared_ptr<const Plan> make_cpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          const device::Device& device, const Tunables& tunables,
                                          const CpuCost& cost = kXeonCost);
std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables,
                                          const GpuCost& cost = kH200Cost);

}  // namespace tautline::stages::dedisperse
