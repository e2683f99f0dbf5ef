// The autocorrelator on CPUs with matrix units: not part of the stage's interface.
#pragma once

#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/cpu/amx/kernels.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::cpu {

/// `config` must satisfy amx_fits. A test passes kernels that emulate the tile instructions.
std::shared_ptr<const Plan> make_amx_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const AmxKernels& kernels, const Tunables& tunables);

}  // namespace tautline::stages::autocorrelate::cpu
