#include "tautline/stages/correlate/gpu/dispatch.h"

#include "tautline/core/error.h"

namespace tautline::stages::correlate::gpu {

namespace {

struct Design {
  GpuDesign number;
  GpuKernelPointer (*make)(const Config&, std::shared_ptr<const device::Device>,
                           const GpuTunables&);
};

// Fastest first. The last one supports every device.
constexpr Design kDesigns[] = {{GpuDesign::wgmma, make_wgmma_kernel},
                               {GpuDesign::mma, make_mma_kernel},
                               {GpuDesign::tiled, make_tiled_kernel}};

}  // namespace

GpuKernelPointer choose_kernel(const Config& config,
                               const std::shared_ptr<const device::Device>& device,
                               const GpuTunables& tunables) {
  for (const Design& design : kDesigns) {
    if (tunables.design != GpuDesign::automatic && tunables.design != design.number) continue;
    if (auto kernel = design.make(config, device, tunables)) return kernel;
  }
  throw core::Error(core::ErrorKind::unsupported, "correlate GPU design",
                    "not for " + device->name(), "one that has code for this device and format",
                    "let the plan choose");
}

}  // namespace tautline::stages::correlate::gpu
