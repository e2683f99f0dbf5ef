// The choice of the GPU kernels and their sizes.
#pragma once

#include "tautline/device/device.h"
#include "tautline/stages/autocorrelate/gpu/kernels.h"
#include "tautline/stages/autocorrelate/gpu/layout.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::gpu {

/// Compiles the kernels, or loads them from the program cache.
GpuKernels make_kernels(const GpuLayout& layout, const GpuTunables& tunables,
                        const device::Device& device);

}  // namespace tautline::stages::autocorrelate::gpu
