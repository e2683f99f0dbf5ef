// The filter bank on GPUs, through CUDA and OpenCL alike.
#pragma once

#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// The device compiles. Throws Error(config) on bad tunables and Error(unsupported) when they ask
/// for a design that has no code for this bank or device.
std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const Bank> bank,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables, std::string origin = {});

}  // namespace tautline::stages::channelize::gpu
