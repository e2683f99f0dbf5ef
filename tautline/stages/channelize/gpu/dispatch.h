// Which kernels, and in which sizes, a problem gets on a device.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// What the choice of sizes needs to know of a device.
struct Target {
  device::Api api = device::Api::cuda;
  std::size_t local_bytes = 48 << 10;  ///< most local memory of one group
  std::size_t group_threads = 1024;    ///< most threads of one group
  bool host_cpu = false;

  static Target of(const device::Device& device);
};

/// Tunables without zeros for this problem and device. Throws Error(config) for values out of range
/// and Error(unsupported) for a design that has no code for the problem or does not fit the device.
GpuTunables complete(const GpuTunables& tunables, const Bank& bank, const Target& target);

std::string name(GpuDesign design);
/// "fused, 4 spectra of 32 points a thread, filter 4 x 4": for Plan::backend() and messages.
std::string describe(const GpuTunables& complete);

}  // namespace tautline::stages::channelize::gpu
