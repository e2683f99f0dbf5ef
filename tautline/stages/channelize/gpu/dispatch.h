// Which design runs a filter bank on a device, and the defaults of its tunables.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tautline/device/device.h"
#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize::gpu {

/// The properties of a device that the choice depends on.
struct Target {
  device::Api api = device::Api::cuda;
  std::size_t local_bytes = 48 << 10;  ///< most shared memory of one group
  std::size_t group_threads = 1024;    ///< most threads of one group
  bool host_cpu = false;

  static Target of(const device::Device& device);
};

/// Tunables with defaults for their zeros. Throws Error(config) for values out of range, and
/// Error(unsupported) for a design that does not support the bank or does not fit the device.
GpuTunables complete(const GpuTunables& tunables, const Bank& bank, const Target& target);

/// complete(tunables.gpu) with Tunables::fused_max_channels, and another design if the device has
/// no FFT library for the separate one.
GpuTunables choose_tunables(const Tunables& tunables, const Bank& bank,
                            const device::Device& device);

/// The kernels of the complete tunables' design.
std::unique_ptr<Kernels> make_kernels(const BankPointer& bank, const DevicePointer& device,
                                      const GpuTunables& tunables);

std::string name(GpuDesign design);
/// "fused, 4 spectra of 32 points a thread, filter 4 x 4": for Plan::backend() and messages.
std::string describe(const GpuTunables& complete);

}  // namespace tautline::stages::channelize::gpu
