// The split design: two kernels, columns and rows, for powers of two too long for one kernel.
#include <algorithm>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/gpu/launch.h"
#include "tautline/stages/channelize/gpu/tables.h"

namespace tautline::stages::channelize::gpu {

namespace {

class SplitKernels final : public Kernels {
 public:
  SplitKernels(BankPointer bank, const device::Device& device, const GpuTunables& tunables)
      : bank_(std::move(bank)), tunables_(tunables), sizes_(split_sizes(tunables, *bank_)) {
    const auto options = exact_options(device.api());
    columns_ = jit::build(device, "channelize/gpu/columns.kernel",
                          columns_defines(tunables, *bank_), options)
                   ->kernel("columns");
    rows_ =
        jit::build(device, "channelize/gpu/rows.kernel", rows_defines(tunables, *bank_), options)
            ->kernel("rows");
    coefficients_ = upload(device, coefficients(*bank_, false));
    twiddles_ = upload(device, twiddles(sizes_.rest.radices, sizes_.parts));
  }

  std::string name() const override { return describe(tunables_); }
  std::size_t granule() const override { return tunables_.spectra; }
  std::size_t alignment() const override { return sample_alignment(tunables_, *bank_); }
  std::size_t gain_parts() const override { return sizes_.parts; }
  std::size_t table_bytes() const override { return coefficients_.bytes() + twiddles_.bytes(); }
  std::size_t work_bytes() const override { return chunk() * spectrum_bytes(); }

  void run(device::Queue& queue, const Slice& slice, void* work) const override {
    for (std::size_t input = 0; input < bank_->config.inputs; ++input)
      for (std::size_t first = 0; first < slice.count; first += chunk()) {
        const Slice part =
            part_of(slice, *bank_, input, first, std::min(chunk(), slice.count - first));
        run_columns(queue, part, work);
        run_rows(queue, part, work);
      }
  }

 private:
  std::size_t spectrum_bytes() const { return bank_->channels * sizeof(std::complex<float>); }

  // Spectra of one input that are transformed at a time.
  std::size_t chunk() const {
    const std::size_t most = bank_->spectra(bank_->span() - 1 + bank_->config.max_samples);
    const std::size_t wanted = std::min(most, tunables_.work_bytes / spectrum_bytes());
    return std::max<std::size_t>(1, core::divide_up(wanted, tunables_.spectra)) * tunables_.spectra;
  }

  void run_columns(device::Queue& queue, const Slice& part, void* work) const {
    const device::LaunchShape shape{.groups = {core::divide_up(part.count, tunables_.spectra) *
                                               (bank_->channels / sizes_.parts / sizes_.columns)},
                                    .threads = {sizes_.first.threads},
                                    .local_bytes = sizes_.first.local_bytes};
    queue.run(*columns_, shape, part.samples, part.row_bytes, coefficients_.data(), work,
              core::u32(part.count), core::u32(bank_->taps / tunables_.filter_spectra));
  }

  void run_rows(device::Queue& queue, const Slice& part, void* work) const {
    const bool together = bank_->config.output == Output::spectra_float;
    const device::LaunchShape shape{
        .groups = {together ? part.count * (sizes_.parts / sizes_.row_spectra)
                            : sizes_.parts * core::divide_up(part.count, sizes_.row_spectra)},
        .threads = {sizes_.rest.threads},
        .local_bytes = sizes_.rest.local_bytes};
    GpuTunables pieces = tunables_;
    pieces.spectra = sizes_.row_spectra;
    queue.run(*rows_, shape, work, twiddles_.data(), part.phases, part.valid, part.valid_words,
              part.gains, part.out, part.slow_stride, part.fast_stride, part.clipped,
              part.clipped_stride, part.first, core::u32(part.count),
              flags_of(part, *bank_, piece_bytes(pieces, *bank_)));
  }

  BankPointer bank_;
  GpuTunables tunables_;
  SplitSizes sizes_;
  std::shared_ptr<const device::Kernel> columns_, rows_;
  device::Buffer coefficients_, twiddles_;
};

}  // namespace

std::unique_ptr<Kernels> make_split_kernels(BankPointer bank, const DevicePointer& device,
                                            const GpuTunables& tunables) {
  return std::make_unique<SplitKernels>(std::move(bank), *device, tunables);
}

}  // namespace tautline::stages::channelize::gpu
