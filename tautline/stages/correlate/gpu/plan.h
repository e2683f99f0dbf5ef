// The GPU correlator, through CUDA and OpenCL alike.
#pragma once

#include <memory>
#include <string>

#include "tautline/stages/correlate/gpu/kernels.h"

namespace tautline::stages::correlate::gpu {

/// The config has been checked; the device compiles kernels. Throws Error(config) on bad tunables,
/// and Error(unsupported) when their design does not support the device or the format. `origin`
/// says where the tunables come from, for Plan::backend().
std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const GpuTunables& tunables, std::string origin = {});

}  // namespace tautline::stages::correlate::gpu
