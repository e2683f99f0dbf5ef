// One kernel for everything: fused, and roles, whose threads are split by kind of work.
#include <algorithm>
#include <array>
#include <utility>

#include "tautline/stages/channelize/gpu_choice.h"
#include "tautline/stages/channelize/gpu_launch.h"
#include "tautline/stages/channelize/gpu_passes.h"
#include "tautline/stages/channelize/gpu_tables.h"

namespace tautline::stages::channelize::gpu {

namespace {

class FusedPasses final : public Passes {
 public:
  FusedPasses(BankPointer bank, const device::Device& device, const GpuTunables& tunables)
      : bank_(std::move(bank)),
        tunables_(tunables),
        sizes_(fused_sizes(tunables, *bank_)),
        roles_(tunables.design == GpuDesign::roles),
        multiprocessors_(std::max<std::size_t>(1, device.properties().multiprocessors)) {
    kernel_ = jit::build(device,
                         roles_ ? "channelize/roles.cuda.kernel" : "channelize/fused.kernel",
                         fused_defines(tunables, *bank_), exact_options(device.api()))
                  ->kernel(roles_ ? "roles" : "fused");
    coefficients_ = upload(device, coefficients(*bank_, uses_symmetry(tunables, *bank_), false));
    std::vector<float> table = turns(sizes_.radices, 1);
    if (bank_->real)
      for (const std::complex<float> w : halves(bank_->channels, bank_->channels / 2))
        table.push_back(w.real()), table.push_back(w.imag());
    turns_ = upload(device, table);
  }

  std::string name() const override { return describe(tunables_); }
  std::size_t granule() const override { return tunables_.spectra; }
  std::size_t alignment() const override { return sample_alignment(tunables_, *bank_); }
  std::size_t table_bytes() const override { return coefficients_.bytes() + turns_.bytes(); }

  void run(device::Queue& queue, const Slice& slice, void* /*work*/) const override {
    const std::size_t inputs = bank_->config.inputs;
    const std::size_t batches = groups_of(slice.count, tunables_.spectra);
    const std::size_t run = roles_ ? run_batches(inputs * batches) : 1;
    device::LaunchShape shape;
    shape.groups.x = inputs * groups_of(batches, run);
    shape.threads.x = sizes_.threads;
    shape.local_bytes = sizes_.local_bytes;
    const std::array<device::Argument, 18> arguments{
        device::Argument(slice.samples),
        std::uint64_t{slice.row_bytes},
        device::Argument(coefficients_.data()),
        device::Argument(turns_.data()),
        device::Argument(slice.phases),
        device::Argument(slice.valid),
        std::uint64_t{slice.valid_words},
        device::Argument(slice.gains),
        device::Argument(slice.out),
        std::int64_t{slice.slow_stride},
        std::int64_t{slice.fast_stride},
        device::Argument(slice.clipped),
        std::int64_t{slice.clipped_stride},
        std::uint64_t{slice.first},
        narrow(slice.count),
        origin_of(slice, *bank_),
        narrow(bank_->taps / tunables_.filter_spectra),
        flags_of(slice, *bank_, piece_bytes(tunables_, *bank_))};
    if (!roles_) return queue.launch(*kernel_, shape, arguments);
    std::vector<device::Argument> more(arguments.begin(), arguments.end());
    more.emplace_back(narrow(run));
    queue.launch(*kernel_, shape, more);
  }

 private:
  // Long runs hide their first and last step, where one role has nothing to do; enough of them
  // even out multiprocessors that are not equally fast.
  std::size_t run_batches(std::size_t batches) const {
    constexpr std::size_t kRunsEach = 8, kLongest = 64;
    return std::clamp<std::size_t>(batches / (multiprocessors_ * kRunsEach), 4, kLongest);
  }

  BankPointer bank_;
  GpuTunables tunables_;
  TransformSizes sizes_;
  bool roles_;
  std::size_t multiprocessors_;
  std::shared_ptr<const device::Kernel> kernel_;
  device::Buffer coefficients_, turns_;
};

}  // namespace

std::unique_ptr<Passes> make_fused_passes(BankPointer bank, const DevicePointer& device,
                                          const GpuTunables& tunables) {
  return std::make_unique<FusedPasses>(std::move(bank), *device, tunables);
}

}  // namespace tautline::stages::channelize::gpu
