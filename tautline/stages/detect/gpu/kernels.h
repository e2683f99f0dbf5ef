// The kernels of the GPU search, compiled for one plan.
#pragma once

#include <memory>

#include "tautline/device/device.h"
#include "tautline/stages/detect/gpu/layout.h"

namespace tautline::stages::detect {

struct GpuKernels {
  std::shared_ptr<const device::Kernel> sum_segments;       ///< segments.kernel
  std::shared_ptr<const device::Kernel> average, subtract;  ///< baseline.kernel
  std::shared_ptr<const device::Kernel> find_median;        ///< noise.kernel
  std::shared_ptr<const device::Kernel> add_up;             ///< units.kernel
  std::shared_ptr<const device::Kernel> scan, sum_squares;  ///< boxcars.kernel
  std::shared_ptr<const device::Kernel> find_peaks;         ///< peaks.kernel
  std::shared_ptr<const device::Kernel> find_middles;       ///< refine.kernel
};

/// Compiles the kernels, or loads them from the program cache.
GpuKernels make_kernels(const GpuLayout& layout, const device::Device& device);

}  // namespace tautline::stages::detect
