// The kernels that unpack on a GPU, compiled for one plan.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/core/voltage.h"
#include "tautline/device/device.h"
#include "tautline/stages/unpack/unpack.h"

namespace tautline::stages::unpack {

/// Of a group of threads of unpack.kernel: times and rows, and threads.
inline constexpr std::size_t kGroupTimes = 64, kGroupRows = 32, kGroupThreads = 256;
/// Of a group of floats.kernel: a word of validity.
inline constexpr std::size_t kFloatTimes = 64;

/// One of them or none: other floats are unpacked on the host.
struct GpuKernels {
  std::shared_ptr<const device::Kernel> unpack;  ///< unpack.kernel: integers
  std::shared_ptr<const device::Kernel> check;   ///< floats.kernel: floats in the device's memory
  bool by_row = false;                           ///< unpack transposes: times of a row lie apart
};

/// Compiles the kernel, or loads it from the program cache. `layout`: of the bytes on the device.
GpuKernels make_kernels(const Config& config, const core::RawLayout& layout,
                        const device::Device& device);

}  // namespace tautline::stages::unpack
