// The autocorrelator on CPUs: not part of the stage's interface.
#pragma once

#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::cpu {

/// Throws Error(config) on bad tunables.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::autocorrelate::cpu
