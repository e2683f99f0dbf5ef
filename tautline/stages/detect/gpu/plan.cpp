// The GPU plan, for CUDA and OpenCL. Series stay in device memory. The few peaks over the threshold
// are copied to the host, which makes events and pulses of them with the code of the CPU backend.
#include <memory>
#include <utility>

#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/gpu/state.h"

namespace tautline::stages::detect {

std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables) {
  const auto setting = std::make_shared<GpuSetting>(config);
  setting->tunables = tunables.gpu;
  std::size_t& threads = setting->tunables.threads;
  while (threads > 64 && threads > device->properties().max_group_threads) threads /= 2;
  setting->device = std::move(device);
  setting->kernels = make_kernels(*setting, *setting->device);
  return std::make_shared<BackendPlan>(
      setting, setting->device->api() == device::Api::cuda ? "cuda" : "opencl", setting->bytes(),
      [shared = std::shared_ptr<const GpuSetting>(setting)](device::Queue& queue) {
        return std::make_unique<GpuState>(shared, queue);
      });
}

}  // namespace tautline::stages::detect
