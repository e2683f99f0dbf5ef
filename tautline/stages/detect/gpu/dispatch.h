// Compiles the kernels of the GPU search.
#pragma once

#include "tautline/stages/detect/gpu/kernels.h"
#include "tautline/stages/detect/gpu/layout.h"

namespace tautline::stages::detect {

/// Compiles the kernels, or loads them from the program cache.
GpuKernels make_kernels(const GpuLayout& layout, const device::Device& device);

}  // namespace tautline::stages::detect
