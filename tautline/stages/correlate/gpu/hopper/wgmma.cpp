// The kernels for Hopper's matrix units.
#include <algorithm>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/core/integers.h"
#include "tautline/stages/correlate/gpu/hopper/deferred_sums.h"
#include "tautline/stages/correlate/gpu/kernels.h"
#include "tautline/stages/correlate/gpu/tensor.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

constexpr std::size_t kWgmmaThreads = 384;
constexpr std::size_t kEngineAlignment = 16;  // of addresses and strides that the copy engine reads

class WgmmaKernel final : public GpuKernel {
 public:
  WgmmaKernel(const Config& config, std::shared_ptr<const device::Device> device,
              const WgmmaTunables& tunables)
      : config_(config), device_(std::move(device)), tunables_(tunables) {
    kernel_ = jit::build(*device_, "correlate/gpu/hopper/wgmma.cuda.kernel",
                         wgmma_defines(config_, tunables_))
                  ->kernel("correlate_wgmma");
    if (DeferredSums::worth(config))
      deferred_ = std::make_unique<const DeferredSums>(config, *device_, tunables_);
  }

  std::string name() const override { return "wgmma " + describe(tunables_); }
  std::size_t alignment_bytes() const override { return kEngineAlignment; }
  std::size_t sample_bytes() const override { return tensor_sample_bytes(config_); }

  void add(device::Queue& queue, const GpuSamples& samples, void* visibilities) const override {
    run(queue, samples, visibilities, /*store=*/false);
  }
  void store(device::Queue& queue, const GpuSamples& samples, void* visibilities,
             std::size_t /*visibility_bytes*/) const override {
    run(queue, samples, visibilities, /*store=*/true);
  }
  std::size_t deferred_bytes() const override { return deferred_ ? deferred_->bytes() : 0; }
  std::size_t deferred_samples() const override { return kTensorMaxSamples; }
  void defer(device::Queue& queue, const GpuSamples& samples, void* deferred,
             bool first) const override {
    deferred_->add(queue, map(samples), samples.samples, deferred, first);
  }
  void flush(device::Queue& queue, void* deferred, void* visibilities,
             bool replace) const override {
    deferred_->flush(queue, deferred, visibilities, replace);
  }

 private:
  // Overwrites with the first samples when `store`, and adds the others.
  void run(device::Queue& queue, const GpuSamples& samples, void* visibilities, bool store) const {
    for_parts(samples, tensor_max_samples(config_),
              std::max<std::size_t>(1, kTensorMaxItems / tensor_tiles(config_.inputs)),
              core::baseline_count(config_.inputs), visibilities,
              [&](const GpuSamples& part, core::ci64* sums, bool first) {
                launch(queue, part, sums, store && first);
              });
  }

  device::TensorMap map(const GpuSamples& samples) const {
    // The copy engine requires strides that are multiples of 16, even for axes of extent 1.
    const std::size_t bytes = samples.samples * sample_bytes();
    const std::size_t row =
        config_.inputs > 1 ? samples.input_stride_bytes
                           : (bytes + kEngineAlignment - 1) / kEngineAlignment * kEngineAlignment;
    const std::size_t channel =
        samples.channels > 1 ? samples.channel_stride_bytes : row * config_.inputs;
    device::TensorLayout layout;
    layout.data = samples.data;
    layout.element_bytes = 1;
    layout.rank = 3;
    layout.extents = {bytes, config_.inputs, samples.channels};
    layout.stride_bytes = {0, row, channel};
    layout.box = {kTensorStepBytes, kTensorTileInputs, 1};
    layout.swizzle_bytes = kTensorStepBytes;
    return device_->make_tensor_map(layout);
  }

  std::size_t groups() const { return device_->properties().multiprocessors; }

  void launch(device::Queue& queue, const GpuSamples& samples, core::ci64* visibilities,
              bool store) const {
    const std::size_t step_pairs = tensor_step_pairs(config_, samples.samples);
    const std::size_t tiles = tensor_tiles(config_.inputs);
    // Parts of a tile are added in any order, which would change the bits of float sums.
    const TileSchedule schedule = schedule_tiles(samples.channels * tiles, tiles, groups(),
                                                 step_pairs, !store && config_.exact());
    const device::TensorMap samples_map = map(samples);
    const device::LaunchShape shape{.groups = {std::min(schedule.items, groups())},
                                    .threads = {kWgmmaThreads},
                                    .local_bytes = wgmma_shared_bytes(tunables_)};
    queue.run(*kernel_, shape, samples_map, visibilities, core::u32(config_.inputs),
              core::u32(step_pairs), core::u32(schedule.items), core::u32(schedule.whole),
              core::u32(schedule.parts), core::u32(schedule.rotation), core::u32(store));
  }

  Config config_;
  std::shared_ptr<const device::Device> device_;
  WgmmaTunables tunables_;
  std::shared_ptr<const device::Kernel> kernel_;
  std::unique_ptr<const DeferredSums> deferred_;
};

}  // namespace

GpuKernelPointer make_wgmma_kernel(const Config& config,
                                   std::shared_ptr<const device::Device> device,
                                   const GpuTunables& tunables) {
  if (!wgmma_runs(config, *device)) return nullptr;
  WgmmaTunables wanted = tunables.wgmma;
  // With one tile a channel, samples come from memory instead of the second-level cache, so more
  // stages are loaded ahead.
  constexpr std::size_t kStagesOfOneTile = 7;
  if (wanted.deferred_stages == 0 && tensor_tiles(config.inputs) == 1)
    wanted.deferred_stages = kStagesOfOneTile;
  const WgmmaTunables complete_tunables =
      complete(wanted, device->properties().local_bytes, config.format == core::kCf16);
  return std::make_shared<WgmmaKernel>(config, std::move(device), complete_tunables);
}

}  // namespace tautline::stages::correlate::gpu
