// Which of the GPU kernels runs for a config on a device.
#pragma once

#include <memory>

#include "tautline/stages/correlate/gpu/kernels.h"

namespace tautline::stages::correlate::gpu {

/// The kernel of tunables.design, or the fastest one that supports the device and the config's
/// format. Throws Error(config) on tunables out of range, and Error(unsupported) when the design
/// does not support the device or the format.
GpuKernelPointer choose_kernel(const Config& config,
                               const std::shared_ptr<const device::Device>& device,
                               const GpuTunables& tunables);

}  // namespace tautline::stages::correlate::gpu
