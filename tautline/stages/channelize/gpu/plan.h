// The filter bank on GPUs, through CUDA and OpenCL alike.
#pragma once

#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// The device compiles kernels. Throws Error(config) on bad tunables, and Error(unsupported) if
/// their design does not support the bank or the device. `origin` says where the tunables come
/// from, for Plan::backend().
std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const Bank> bank,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables, std::string origin = {});

}  // namespace tautline::stages::channelize::gpu
