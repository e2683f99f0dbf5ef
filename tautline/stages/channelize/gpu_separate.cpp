// Any size: a kernel for the filter, the device's FFT, and a kernel for the rest. Spectra of float
// whose terms come out in ascending order are transformed where the caller wants them.
#include <algorithm>
#include <array>
#include <utility>

#include "tautline/stages/channelize/gpu_choice.h"
#include "tautline/stages/channelize/gpu_launch.h"
#include "tautline/stages/channelize/gpu_passes.h"
#include "tautline/stages/channelize/gpu_tables.h"

namespace tautline::stages::channelize::gpu {

namespace {

class SeparatePasses final : public Passes {
 public:
  SeparatePasses(BankPointer bank, const device::Device& device, const GpuTunables& tunables)
      : bank_(std::move(bank)), tunables_(tunables) {
    const auto options = exact_options(device.api());
    fir_ = jit::build(device, "channelize/fir.kernel", fir_defines(tunables, *bank_), options)
               ->kernel("fir");
    const auto finish =
        jit::build(device, "channelize/finish.kernel", finish_defines(*bank_), options);
    finish_ = finish->kernel("finish");
    adjust_ = finish->kernel("adjust");
    coefficients_ = upload(device, coefficients(*bank_, false, centred(*bank_)));
    if (bank_->real) halves_ = upload(device, halves(bank_->channels, bank_->channels + 1));
    fft_ = device.make_fft(bank_->channels, chunk());
  }

  std::string name() const override {
    return describe(tunables_) + ", " + std::string(fft_->library());
  }
  std::size_t granule() const override { return tunables_.filter_spectra; }
  std::size_t alignment() const override { return sample_alignment(tunables_, *bank_); }
  std::size_t table_bytes() const override {
    return coefficients_.bytes() + halves_.bytes() + fft_->work_bytes();
  }
  std::size_t work_bytes() const override { return chunk() * spectrum_bytes(); }

  void run(device::Queue& queue, const Slice& slice, void* work) const override {
    for (std::size_t input = 0; input < bank_->config.inputs; ++input)
      for (std::size_t first = 0; first < slice.count; first += chunk())
        run_part(queue,
                 part_of(slice, *bank_, input, first, std::min(chunk(), slice.count - first)),
                 work);
  }

 private:
  std::size_t spectrum_bytes() const { return bank_->channels * sizeof(std::complex<float>); }

  // Spectra of one input that are transformed at once. A call's last ones, which do not fill a
  // chunk, pass through the work buffer: an eighth of a call at most, if calls are large.
  std::size_t chunk() const {
    constexpr std::size_t kChunks = 8;
    const std::size_t most = bank_->spectra(bank_->span() - 1 + bank_->config.max_samples);
    const std::size_t some = std::max(most / kChunks, kLeastBytes / spectrum_bytes());
    return std::clamp<std::size_t>(std::min(some, tunables_.work_bytes / spectrum_bytes()), 1,
                                   std::max<std::size_t>(1, most));
  }
  // Launches of less are mostly overhead.
  static constexpr std::size_t kLeastBytes = std::size_t{32} << 20;

  // Whether the transform of a whole chunk may be done in the caller's memory.
  bool in_place(const Slice& part) const {
    constexpr std::size_t kStoreBytes = 16;
    return bank_->config.output == Output::spectra_float && centred(*bank_) &&
           part.count == chunk() && reinterpret_cast<std::uintptr_t>(part.out) % kStoreBytes == 0 &&
           (part.count == 1 || part.fast_stride == static_cast<std::ptrdiff_t>(bank_->channels));
  }

  void run_part(device::Queue& queue, const Slice& part, void* work) const {
    void* terms = in_place(part) ? part.out : work;
    run_fir(queue, part, terms);
    // A chunk that is not full transforms what an earlier one left behind it.
    fft_->execute(queue, static_cast<std::complex<float>*>(terms));
    if (terms == work)
      run_finish(queue, part, work);
    else if (part.phases != nullptr || part.valid != nullptr)
      run_adjust(queue, part);
  }

  void run_fir(device::Queue& queue, const Slice& part, void* terms) const {
    device::LaunchShape shape;
    shape.groups.x = groups_of(
        bank_->channels / tunables_.positions * groups_of(part.count, tunables_.filter_spectra),
        kFirThreads);
    shape.threads.x = kFirThreads;
    const std::array<device::Argument, 7> arguments{device::Argument(part.samples),
                                                    std::uint64_t{part.row_bytes},
                                                    device::Argument(coefficients_.data()),
                                                    device::Argument(terms),
                                                    narrow(part.count),
                                                    origin_of(part, *bank_),
                                                    narrow(bank_->taps / tunables_.filter_spectra)};
    queue.launch(*fir_, shape, arguments);
  }

  void run_finish(device::Queue& queue, const Slice& part, void* work) const {
    constexpr std::size_t kMostRows = 65535 * kFinishTile;  // of a grid
    for (std::size_t first = 0; first < part.count; first += kMostRows) {
      const Slice some = part_of(part, *bank_, 0, first, std::min(kMostRows, part.count - first));
      device::LaunchShape shape;
      shape.groups = {groups_of(bank_->channels, kFinishTile), groups_of(some.count, kFinishTile),
                      1};
      shape.threads.x = kFinishThreads;
      const std::array<device::Argument, 14> arguments{
          device::Argument(static_cast<std::byte*>(work) + first * spectrum_bytes()),
          device::Argument(halves_.data()),
          device::Argument(some.phases),
          device::Argument(some.valid),
          std::uint64_t{some.valid_words},
          device::Argument(some.gains),
          device::Argument(some.out),
          std::int64_t{some.slow_stride},
          std::int64_t{some.fast_stride},
          device::Argument(some.clipped),
          std::int64_t{some.clipped_stride},
          std::uint64_t{some.first},
          narrow(some.count),
          flags_of(some, *bank_, 1)};
      queue.launch(*finish_, shape, arguments);
    }
  }

  void run_adjust(device::Queue& queue, const Slice& part) const {
    constexpr std::size_t kMostRows = 65535;
    device::LaunchShape shape;
    shape.groups = {groups_of(bank_->channels, kFinishThreads), std::min(kMostRows, part.count), 1};
    shape.threads.x = kFinishThreads;
    const std::array<device::Argument, 6> arguments{
        device::Argument(part.out),   device::Argument(part.phases),
        device::Argument(part.valid), std::uint64_t{part.first},
        narrow(part.count),           flags_of(part, *bank_, 1)};
    queue.launch(*adjust_, shape, arguments);
  }

  BankPointer bank_;
  GpuTunables tunables_;
  std::shared_ptr<const device::Kernel> fir_, finish_, adjust_;
  std::shared_ptr<const device::FftPlan> fft_;
  device::Buffer coefficients_, halves_;
};

}  // namespace

std::unique_ptr<Passes> make_separate_passes(BankPointer bank, const DevicePointer& device,
                                             const GpuTunables& tunables) {
  return std::make_unique<SeparatePasses>(std::move(bank), *device, tunables);
}

}  // namespace tautline::stages::channelize::gpu
