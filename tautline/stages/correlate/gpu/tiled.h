// The portable kernel's configuration: limits, defaults, and definitions for the kernel's text.
// Apart from the kernel object, so that tests can compile the kernel without a device.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tautline/device/device.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::gpu {

/// The properties of a device that the tiled kernel's configuration depends on.
struct TiledTarget {
  device::Api api = device::Api::cuda;
  std::size_t local_bytes = std::size_t{48} << 10;
  std::size_t max_group_threads = 1024;
  bool host_cpu = false;

  explicit TiledTarget() = default;
  explicit TiledTarget(const device::Device& device);
};

/// `wanted` with defaults for its zeros. Throws Error(config) naming the field, the value and the
/// limit.
TiledTunables complete(const TiledTunables& wanted, const Config& config,
                       const TiledTarget& target);

/// "8x4 registers, 16x16 threads, ...".
std::string describe(const TiledTunables& tunables);

/// The kernel file and its definitions. `tunables` are complete.
std::string_view tiled_kernel_file(const Config& config);
jit::Defines tiled_defines(const Config& config, const TiledTunables& tunables,
                           const TiledTarget& target);

/// Shared memory of one group.
std::size_t tiled_local_bytes(const TiledTunables& tunables);

}  // namespace tautline::stages::correlate::gpu
