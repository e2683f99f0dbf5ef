// The portable kernel.
#include "tautline/stages/correlate/gpu/tiled.h"

#include <algorithm>

#include "tautline/core/integers.h"
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

  void add(device::Queue& queue, const GpuSamples& samples, void* visibilities) const override {
    for_parts(samples, config_.exact() ? kMaxExactSamples : kMaxFloatSamples,
              std::max<std::size_t>(1, kMaxGroups / groups_per_channel()),
              core::baseline_count(config_.inputs), visibilities,
              [&](const GpuSamples& part, core::ci64* sums, bool /*first*/) {
                launch(queue, part, sums);
              });
  }

 private:
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
    const device::LaunchShape shape{.groups = {samples.channels * groups_per_channel()},
                                    .threads = {tunables_.thread_rows * tunables_.thread_columns},
                                    .local_bytes = tiled_local_bytes(tunables_)};
    queue.run(*kernel_, shape, samples.data, samples.channel_stride_bytes,
              samples.input_stride_bytes, samples.samples * sample_bytes(),
              core::u32(config_.inputs), core::u32(squares()), visibilities);
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
