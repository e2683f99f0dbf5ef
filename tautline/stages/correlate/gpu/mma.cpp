// The kernel for the matrix units of compute capability 8.0 and later.
#include <algorithm>

#include "tautline/core/baseline.h"
#include "tautline/core/integers.h"
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

  void add(device::Queue& queue, const GpuSamples& samples, void* visibilities) const override {
    const std::size_t tiles = tensor_tiles(config_.inputs);
    for_parts(
        samples, tensor_max_samples(config_), std::max<std::size_t>(1, kTensorMaxItems / tiles),
        core::baseline_count(config_.inputs), visibilities,
        [&](const GpuSamples& part, core::ci64* sums, bool /*first*/) {
          const device::LaunchShape shape{.groups = {part.channels * tiles},
                                          .threads = {kMmaThreads},
                                          .local_bytes = mma_shared_bytes(tunables_)};
          queue.run(*kernel_, shape, part.data, part.channel_stride_bytes, part.input_stride_bytes,
                    core::u32(part.samples * sample_bytes()), core::u32(config_.inputs), sums);
        });
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
