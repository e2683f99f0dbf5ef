// The separate design, for any size: a kernel for the filter, the device's FFT, and a kernel for
// the rest. Float spectra whose terms are in ascending order are transformed in the caller's
// memory.
//
// FFTs are planned for fixed numbers of spectra: a chunk of one input; and, of all inputs together,
// the few spectra that begin in the history, and the spectra that fit the buffers for host memory.
// The spectra left over after whole chunks use one of the latter, or, if too many, a chunk that
// ends with them, which computes its first spectra twice.
#include <algorithm>
#include <complex>
#include <numeric>
#include <utility>
#include <vector>

#include "tautline/core/integers.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tautline/stages/channelize/gpu/kernels.h"
#include "tautline/stages/channelize/gpu/launch.h"
#include "tautline/stages/channelize/gpu/staging.h"
#include "tautline/stages/channelize/gpu/tables.h"

namespace tautline::stages::channelize::gpu {

namespace {

class SeparateKernels final : public Kernels {
 public:
  SeparateKernels(BankPointer bank, const device::Device& device, const GpuTunables& tunables)
      : bank_(std::move(bank)), tunables_(tunables) {
    const auto options = exact_options(device.api());
    fir_ = jit::build(device, "channelize/gpu/fir.kernel", fir_defines(tunables, *bank_), options)
               ->kernel("fir");
    const auto finish =
        jit::build(device, "channelize/gpu/finish.kernel", finish_defines(*bank_), options);
    finish_ = finish->kernel("finish");
    adjust_ = finish->kernel("adjust");
    coefficients_ = upload(device, coefficients(*bank_, centred(*bank_)));
    if (bank_->real)
      split_roots_ = upload(device, split_roots(bank_->channels, bank_->channels + 1));
    fft_ = device.make_fft(bank_->channels, chunk());
    plan_small(device, few());
    const std::size_t staged = StagingSizes(*bank_, tunables_, granule()).spectra;
    if (staged > few()) plan_small(device, staged);
  }

  std::string name() const override {
    return describe(tunables_) + ", " + std::string(fft_->library());
  }
  std::size_t granule() const override { return tunables_.filter_spectra; }
  // Launches are of one chunk at most.
  std::size_t most_spectra() const override { return std::size_t{1} << 31; }
  std::size_t alignment() const override { return sample_alignment(tunables_, *bank_); }
  std::size_t table_bytes() const override {
    std::size_t bytes = coefficients_.bytes() + split_roots_.bytes() + fft_->work_bytes();
    for (const Small& small : small_) bytes += small.fft->work_bytes();
    return bytes;
  }
  std::size_t work_bytes() const override {
    std::size_t spectra = chunk();
    for (const Small& small : small_) spectra = std::max(spectra, small.inputs * small.spectra);
    return spectra * spectrum_bytes();
  }

  void run(device::Queue& queue, const Slice& slice, void* work) const override {
    const std::size_t whole = chunk(), inputs = bank_->config.inputs;
    const std::size_t wholes = slice.count / whole, rest = slice.count % whole;
    for (std::size_t input = 0; input < inputs; ++input)
      for (std::size_t n = 0; n < wholes; ++n)
        run_part(queue, part_of(slice, *bank_, input, n * whole, whole), work);
    if (rest == 0) return;
    for (const Small& small : small_) {
      if (rest > small.spectra) continue;
      for (std::size_t input = 0; input < inputs; input += small.inputs)
        run_small(queue, small, part_of(slice, *bank_, input, wholes * whole, rest), work);
      return;
    }
    // Too many for those: a whole chunk that ends with the slice.
    const std::size_t begin = slice.count - std::min(slice.count, whole);
    for (std::size_t input = 0; input < inputs; ++input)
      run_part(queue, part_of(slice, *bank_, input, begin, slice.count - begin), work);
  }

 private:
  struct Small {
    std::size_t inputs, spectra;  // inputs transformed together, and most spectra of each
    std::shared_ptr<const device::FftPlan> fft;
  };

  std::size_t spectrum_bytes() const { return bank_->channels * sizeof(std::complex<float>); }
  std::size_t most() const {
    return std::max<std::size_t>(1, bank_->spectra(bank_->span() - 1 + bank_->config.max_samples));
  }

  void plan_small(const device::Device& device, std::size_t spectra) {
    const bool all = bank_->config.inputs * spectra * spectrum_bytes() <=
                     std::max(tunables_.work_bytes, tunables_.slab_bytes);
    const std::size_t inputs = all ? bank_->config.inputs : 1;
    small_.push_back({inputs, spectra, device.make_fft(bank_->channels, inputs * spectra)});
  }

  // Spectra of one input that are transformed at once: equal parts of a call's spectra without
  // those that begin in the history. The filter reads whole granules.
  std::size_t chunk() const {
    const std::size_t rest = most() - std::min(most(), few() / 2);
    const std::size_t parts =
        std::max<std::size_t>(1, core::divide_up(rest * spectrum_bytes(), tunables_.work_bytes));
    return std::max<std::size_t>(1, rest / parts / granule()) * granule();
  }
  // Twice the spectra of each input that begin in the history, so that spectra left over after
  // whole chunks often fit too.
  std::size_t few() const {
    const std::size_t whole = std::lcm<std::size_t>(granule(), 16);
    return 2 * core::divide_up(bank_->taps, whole) * whole;
  }

  // Whether a whole chunk can be transformed in the caller's memory.
  bool in_place(const Slice& part) const {
    constexpr std::size_t kStoreBytes = 16;
    return bank_->config.output == Output::spectra_float && centred(*bank_) &&
           part.count == chunk() && reinterpret_cast<std::uintptr_t>(part.out) % kStoreBytes == 0 &&
           (part.count == 1 || part.fast_stride == static_cast<std::ptrdiff_t>(bank_->channels));
  }

  void run_small(device::Queue& queue, const Small& small, const Slice& part, void* work) const {
    run_fir(queue, part, small.inputs, work);
    small.fft->execute(queue, static_cast<std::complex<float>*>(work));
    run_finish(queue, part, small.inputs, work);
  }

  void run_part(device::Queue& queue, const Slice& part, void* work) const {
    void* terms = in_place(part) ? part.out : work;
    run_fir(queue, part, 1, terms);
    // Spectra beyond an incomplete chunk are transformed too: `terms` has room for a whole chunk.
    fft_->execute(queue, static_cast<std::complex<float>*>(terms));
    if (terms == work)
      run_finish(queue, part, 1, work);
    else if (part.phases != nullptr || part.valid != nullptr)
      run_adjust(queue, part);
  }

  void run_fir(device::Queue& queue, const Slice& part, std::size_t inputs, void* terms) const {
    const device::LaunchShape shape{
        .groups = {core::divide_up(bank_->channels / tunables_.positions *
                                       core::divide_up(part.count, tunables_.filter_spectra),
                                   kFirThreads),
                   inputs, 1},
        .threads = {kFirThreads}};
    queue.run(*fir_, shape, part.samples, part.row_bytes, coefficients_.data(), terms,
              core::u32(part.count), origin_of(part, *bank_),
              core::u32(bank_->taps / tunables_.filter_spectra));
  }

  // `work`: the terms of all `inputs`, contiguous. Grids are at most 65,535 groups high and deep.
  void run_finish(device::Queue& queue, const Slice& part, std::size_t inputs, void* work) const {
    const std::size_t most_rows = inputs == 1 ? 65535 * kFinishTile : part.count;
    for (std::size_t first = 0; first < part.count; first += most_rows) {
      Slice some = part;
      if (inputs == 1)
        some = part_of(part, *bank_, 0, first, std::min(most_rows, part.count - first));
      const device::LaunchShape shape{.groups = {core::divide_up(bank_->channels, kFinishTile),
                                                 core::divide_up(some.count, kFinishTile), inputs},
                                      .threads = {kFinishThreads}};
      queue.run(*finish_, shape, static_cast<std::byte*>(work) + first * spectrum_bytes(),
                split_roots_.data(), some.phases, some.valid, some.valid_words, some.gains,
                some.out, some.slow_stride, some.fast_stride, some.clipped, some.clipped_stride,
                some.first, core::u32(some.count), flags_of(some, *bank_, 1));
    }
  }

  void run_adjust(device::Queue& queue, const Slice& part) const {
    constexpr std::size_t kMostRows = 65535;
    const device::LaunchShape shape{.groups = {core::divide_up(bank_->channels, kFinishThreads),
                                               std::min(kMostRows, part.count), 1},
                                    .threads = {kFinishThreads}};
    queue.run(*adjust_, shape, part.out, part.phases, part.valid, part.first, core::u32(part.count),
              flags_of(part, *bank_, 1));
  }

  BankPointer bank_;
  GpuTunables tunables_;
  std::shared_ptr<const device::Kernel> fir_, finish_, adjust_;
  std::shared_ptr<const device::FftPlan> fft_;
  std::vector<Small> small_;  // in ascending order
  device::Buffer coefficients_, split_roots_;
};

}  // namespace

std::unique_ptr<Kernels> make_separate_kernels(BankPointer bank, const DevicePointer& device,
                                               const GpuTunables& tunables) {
  return std::make_unique<SeparateKernels>(std::move(bank), *device, tunables);
}

}  // namespace tautline::stages::channelize::gpu
