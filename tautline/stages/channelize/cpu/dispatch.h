// Which CPU kernel runs a filter bank.
#pragma once

#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/cpu/kernels.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize {

/// The kernel of the widest instruction set that the device allows.
std::unique_ptr<Kernel> make_cpu_kernel(std::shared_ptr<const Bank> bank,
                                        const device::Device& device, const Tunables& tunables);

}  // namespace tautline::stages::channelize
