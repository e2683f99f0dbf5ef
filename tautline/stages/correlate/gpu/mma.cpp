// The kernel for the matrix units of compute capability 8.0 and later.
#include <algorithm>
#include <array>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/stages/correlate/gpu/kernels.h"
#include "tautline/stages/correlate/gpu/tensor.h"

namespace tautline::stages::correlate::gpu {

namespace {

constexpr std::size_t kMmaThreads = 256;
constexpr std::size_t kLoadBytes = 16;

class MmaKernel final : public GpuKernel {
 public:
  MmaKernel(const Config& config, const device::Device& device, const MmaTunables& tunables)
      : config_(config), tunables_(tunables) {
    kernel_ = jit::build(device, "correlate/gpu/mma.cuda.kernel", mma_defines(config_, tunables_))
                  ->kernel("correlate_mma");
  }

  std::string name() const override { return "mma " + describe(tunables_); }
  std::size_t alignment_bytes() const override { return kLoadBytes; }
  std::size_t sample_bytes() const override { return tensor_sample_bytes(config_); }
  std::size_t work_bytes() const override { return 0; }

  void add(device::Queue& queue, const GpuSamples& samples, void* visibilities,
           void* /*work*/) const override {
    const std::size_t baselines = core::baseline_count(config_.inputs);
    const std::size_t most = tensor_max_samples(config_);
    const std::size_t tiles = tensor_tiles(config_.inputs);
    const std::size_t channels_at_once = std::max<std::size_t>(1, kTensorMaxItems / tiles);
    for (std::size_t first = 0; first < samples.samples; first += most)
      for (std::size_t channel = 0; channel < samples.channels; channel += channels_at_once) {
        const std::size_t count = std::min(most, samples.samples - first);
        device::LaunchShape shape;
        shape.groups.x = std::min(channels_at_once, samples.channels - channel) * tiles;
        shape.threads.x = kMmaThreads;
        shape.local_bytes = mma_shared_bytes(tunables_);
        const std::array<device::Argument, 6> arguments{
            device::Argument(static_cast<const std::byte*>(samples.data) + first * sample_bytes() +
                             channel * samples.channel_stride_bytes),
            static_cast<std::uint64_t>(samples.channel_stride_bytes),
            static_cast<std::uint64_t>(samples.input_stride_bytes),
            static_cast<std::uint32_t>(count * sample_bytes()),
            static_cast<std::uint32_t>(config_.inputs),
            device::Argument(static_cast<core::ci64*>(visibilities) + channel * baselines)};
        queue.launch(*kernel_, shape, arguments);
      }
  }

 private:
  Config config_;
  MmaTunables tunables_;
  std::shared_ptr<const device::Kernel> kernel_;
};

}  // namespace

GpuKernelPointer make_mma_kernel(const Config& config, std::shared_ptr<const device::Device> device,
                                 const GpuTunables& tunables) {
  if (!mma_runs(config, *device)) return nullptr;
  return std::make_shared<MmaKernel>(config, *device,
                                     complete(tunables.mma, device->properties().local_bytes));
}

}  // namespace tautline::stages::correlate::gpu
