// The fused design: one kernel.
#include <algorithm>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/gpu/launch.h"
#include "tautline/stages/channelize/gpu/tables.h"

namespace tautline::stages::channelize::gpu {

namespace {

class FusedKernels final : public Kernels {
 public:
  FusedKernels(BankPointer bank, const device::Device& device, const GpuTunables& tunables)
      : bank_(std::move(bank)), tunables_(tunables), sizes_(fused_sizes(tunables, *bank_)) {
    kernel_ = jit::build(device, "channelize/gpu/fused.kernel", fused_defines(tunables, *bank_),
                         exact_options(device.api()))
                  ->kernel("fused");
    coefficients_ = upload(device, coefficients(*bank_, false));
    std::vector<float> table = twiddles(sizes_.radices, 1);
    if (bank_->real)
      for (const std::complex<float> w : split_roots(bank_->channels, bank_->channels / 2))
        table.push_back(w.real()), table.push_back(w.imag());
    twiddles_ = upload(device, table);
    // Persistent groups: as many as can run at once.
    const device::Properties& p = device.properties();
    constexpr std::size_t kReserved =
        1024;  // bytes of shared memory that CUDA reserves for a group
    const std::size_t fitting = (p.local_bytes + kReserved) / (sizes_.local_bytes + kReserved);
    persistent_groups_ = std::max<std::size_t>(1, p.multiprocessors) *
                         std::clamp<std::size_t>(fitting, 1, tunables.groups);
  }

  std::string name() const override { return describe(tunables_); }
  std::size_t granule() const override { return tunables_.spectra; }
  std::size_t alignment() const override { return sample_alignment(tunables_, *bank_); }
  std::size_t table_bytes() const override { return coefficients_.bytes() + twiddles_.bytes(); }

  void run(device::Queue& queue, const Slice& slice, void* /*work*/) const override {
    const std::size_t inputs = bank_->config.inputs;
    device::LaunchShape shape;
    shape.groups.x = inputs * core::divide_up(slice.count, tunables_.spectra);
    if (tunables_.fetch == 1) shape.groups.x = std::min(shape.groups.x, persistent_groups_);
    shape.threads.x = sizes_.threads;
    shape.local_bytes = sizes_.local_bytes;
    queue.run(*kernel_, shape, slice.samples, slice.row_bytes, coefficients_.data(),
              twiddles_.data(), slice.phases, slice.valid, slice.valid_words, slice.gains,
              slice.out, slice.slow_stride, slice.fast_stride, slice.clipped, slice.clipped_stride,
              slice.first, core::u32(inputs), core::u32(slice.count), origin_of(slice, *bank_),
              core::u32(bank_->taps / tunables_.filter_spectra),
              flags_of(slice, *bank_, piece_bytes(tunables_, *bank_)));
  }

 private:
  BankPointer bank_;
  GpuTunables tunables_;
  TransformSizes sizes_;
  std::shared_ptr<const device::Kernel> kernel_;
  device::Buffer coefficients_, twiddles_;
  std::size_t persistent_groups_ = 0;
};

}  // namespace

std::unique_ptr<Kernels> make_fused_kernels(BankPointer bank, const DevicePointer& device,
                                            const GpuTunables& tunables) {
  return std::make_unique<FusedKernels>(std::move(bank), *device, tunables);
}

}  // namespace tautline::stages::channelize::gpu
