// The portable kernel.
#include "tautline/stages/correlate/gpu/tiled.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tautline/stages/correlate/gpu/kernels.h"

namespace tautline::stages::correlate::gpu {

namespace {

// Limits of a launch. 65,535 full-scale samples fit 32-bit sums (rounded down to a multiple of 16),
// and the float kernel counts stages in 31 bits. Both APIs number groups in 32 bits.
constexpr std::size_t kMaxExactSamples = 65520;
constexpr std::size_t kMaxFloatSamples = std::size_t{1} << 24;
constexpr std::size_t kMaxGroups = std::size_t{1} << 30;

class TiledKernel final : public GpuKernel {
 public:
  TiledKernel(const Config& config, const device::Device& device, const TiledTunables& tunables)
      : config_(config), tunables_(tunables) {
    const auto program = jit::build(device, tiled_kernel_file(config),
                                    tiled_defines(config, tunables, TiledTarget(device)));
    kernel_ = program->kernel("correlate_tiled");
  }

  std::string name() const override { return "tiled " + describe(tunables_); }
  std::size_t alignment_bytes() const override { return tunables_.vector_bytes; }
  std::size_t sample_bytes() const override {
    return config_.exact() ? sizeof(core::ci8) : sizeof(std::complex<float>);
  }
  std::size_t work_bytes() const override { return 0; }

  void add(device::Queue& queue, const GpuSamples& samples, void* visibilities,
           void* /*work*/) const override {
    const std::size_t most = config_.exact() ? kMaxExactSamples : kMaxFloatSamples;
    const std::size_t channels_at_once =
        std::max<std::size_t>(1, kMaxGroups / groups_per_channel());
    for (std::size_t first = 0; first < samples.samples; first += most)
      for (std::size_t channel = 0; channel < samples.channels; channel += channels_at_once) {
        GpuSamples part = samples;
        part.data = static_cast<const std::byte*>(samples.data) + first * sample_bytes() +
                    channel * samples.channel_stride_bytes;
        part.samples = std::min(most, samples.samples - first);
        part.channels = std::min(channels_at_once, samples.channels - channel);
        launch(queue, part,
               static_cast<std::byte*>(visibilities) + channel * visibility_bytes_per_channel());
      }
  }

 private:
  std::size_t visibility_bytes_per_channel() const {
    return core::baseline_count(config_.inputs) * sizeof(core::ci64);
  }
  std::size_t tile_rows() const { return tunables_.register_rows * tunables_.thread_rows; }
  std::size_t tile_columns() const { return tunables_.register_columns * tunables_.thread_columns; }
  // As in tile.kernel: squares of the larger side over the lower triangle, cut into tiles.
  std::size_t squares() const {
    const std::size_t side = std::max(tile_rows(), tile_columns());
    return core::baseline_count((config_.inputs + side - 1) / side);
  }
  std::size_t groups_per_channel() const {
    const std::size_t side = std::max(tile_rows(), tile_columns());
    return squares() * (side / tile_rows()) * (side / tile_columns());
  }

  void launch(device::Queue& queue, const GpuSamples& samples, void* visibilities) const {
    device::LaunchShape shape;
    shape.groups.x = samples.channels * groups_per_channel();
    shape.threads.x = tunables_.thread_rows * tunables_.thread_columns;
    shape.local_bytes = tiled_local_bytes(tunables_);
    const std::array<device::Argument, 7> arguments{
        device::Argument(samples.data),
        static_cast<std::uint64_t>(samples.channel_stride_bytes),
        static_cast<std::uint64_t>(samples.input_stride_bytes),
        static_cast<std::int64_t>(samples.samples * sample_bytes()),
        static_cast<std::uint32_t>(config_.inputs),
        static_cast<std::uint32_t>(squares()),
        device::Argument(visibilities)};
    queue.launch(*kernel_, shape, arguments);
  }

  Config config_;
  TiledTunables tunables_;
  std::shared_ptr<const device::Kernel> kernel_;
};

}  // namespace

GpuKernelPointer make_tiled_kernel(const Config& config,
                                   std::shared_ptr<const device::Device> device,
                                   const GpuTunables& tunables) {
  return std::make_shared<TiledKernel>(config, *device,
                                       complete(tunables.tiled, config, TiledTarget(*device)));
}

}  // namespace tautline::stages::correlate::gpu
