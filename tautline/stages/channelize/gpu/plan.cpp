// Samples and results in device memory are used in place, and nothing waits. The first spectra of a
// call begin in the history: their samples are joined in a buffer. Samples in host memory, or not
// aligned to the kernels' loads, are copied to it too. execute() returns after results and counts
// of clipped components have been copied to host memory.
#include "tautline/stages/channelize/gpu/plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/core/validity.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tautline/stages/channelize/gpu/history.h"
#include "tautline/stages/channelize/gpu/launch.h"
#include "tautline/stages/channelize/gpu/staging.h"
#include "tautline/stages/channelize/gpu/uploads.h"

namespace tautline::stages::channelize::gpu {

namespace {

class GpuState final : public State {
 public:
  GpuState(BankPointer bank, DevicePointer device, const GpuTunables& tunables,
           const Kernels& kernels)
      : bank_(std::move(bank)),
        device_(std::move(device)),
        history(*bank_, *device_),
        uploads(*bank_, *device_, kernels.gain_parts()),
        staging(*bank_, *device_, tunables, kernels.granule()),
        done(device_->make_event()) {
    if (kernels.work_bytes() > 0) work = device_->allocate(kernels.work_bytes());
    if (!bank_->requantised()) return;
    clipped = device_->allocate(bank_->config.inputs * sizeof(std::uint64_t));
    counts.resize(bank_->config.inputs);
  }

  void reset() override { history.reset(); }
  std::size_t held_samples() const override { return history.held(); }
  std::vector<std::byte> save() const override {
    done->synchronise();
    return history.save(*device_->make_queue());
  }
  void load(std::span<const std::byte> saved) override {
    done->synchronise();
    history.load(*device_->make_queue(), saved);
  }

 private:
  BankPointer bank_;
  DevicePointer device_;

 public:
  GpuHistory history;
  Uploads uploads;
  Staging staging;
  device::Buffer work, clipped;
  std::vector<std::uint64_t> counts;  // of clipped components, to add to the caller's
  std::vector<std::uint64_t> mask;    // the call's validity, if it is in device memory
  std::unique_ptr<device::Event> done;
};

class GpuPlan final : public Plan {
 public:
  GpuPlan(BankPointer bank, DevicePointer device, const Tunables& tunables, std::string origin)
      : Plan(std::move(bank)),
        device_(std::move(device)),
        origin_(std::move(origin)),
        tunables_(choose_tunables(tunables, *bank_, *device_)),
        kernels_(make_kernels(bank_, device_, tunables_)),
        order_gains_(
            jit::build(*device_, "channelize/gpu/gains.kernel", {})->kernel("order_gains")) {}

  std::string backend() const override {
    return (device_->api() == device::Api::cuda ? "cuda " : "opencl ") + kernels_->name() +
           (origin_.empty() ? "" : " (" + origin_ + ")");
  }
  device::MemoryUse bytes() const override {
    return {.host_bytes = HistoryMask::bytes(*bank_) + Uploads::host_bytes(*bank_),
            .device_bytes = GpuHistory::device_bytes(*bank_) + Uploads::device_bytes(*bank_) +
                            StagingSizes(*bank_, tunables_, kernels_->granule()).bytes() +
                            kernels_->work_bytes() + kernels_->table_bytes() +
                            (bank_->requantised() ? bank_->config.inputs * 8 : 0)};
  }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<GpuState>(bank_, device_, tunables_, *kernels_);
  }

 private:
  void run(device::Queue& queue, State& state, const Input& input, const OutputViews& output,
           std::size_t total) const override {
    auto& s = dynamic_cast<GpuState&>(state);
    const core::ValidityView validity = host_validity(queue, s, input);
    if (total > 0) write_spectra(queue, s, input, validity, output, total);
    s.history.advance(queue, input, validity, total);
    queue.record(*s.done);
  }

  // Copies a mask in device memory to the host and waits: it is small.
  core::ValidityView host_validity(device::Queue& queue, GpuState& s, const Input& input) const {
    const core::ValidityView& view = input.validity;
    if (view.empty() || !device_->holds(view.data())) return view;
    const std::size_t inputs = bank_->config.inputs, words = core::validity_words(input.count);
    s.mask.resize(inputs * words);
    for (std::size_t i = 0; i < inputs; ++i)
      queue.copy(s.mask.data() + i * words, &view(i, std::size_t{0}),
                 words * sizeof(std::uint64_t));
    queue.synchronise();
    return {s.mask.data(), {inputs, words}};
  }

  void write_spectra(device::Queue& queue, GpuState& s, const Input& input,
                     const core::ValidityView& validity, const OutputViews& output,
                     std::size_t total) const {
    Slice call;
    call.out = static_cast<std::byte*>(output.samples.data());
    call.slow_stride = output.samples.stride(0), call.fast_stride = output.samples.stride(1);
    call.count = total;
    call.index = s.history.mask().index();
    call.phases = s.uploads.phases(queue, input.phases);
    call.valid = s.uploads.valid(queue, s.history.mask(), validity, input.count, total);
    call.valid_words = s.uploads.words();
    call.gains = s.uploads.gains(queue, output.gains, *order_gains_);
    const bool count_here = bank_->requantised() && !device_->holds(output.clipped.data());
    if (count_here) {
      call.clipped = s.clipped.as<std::uint64_t>(), call.clipped_stride = 1;
      queue.fill(s.clipped.data(), 0, s.clipped.bytes());
    } else if (bank_->requantised()) {
      call.clipped = output.clipped.data(), call.clipped_stride = output.clipped.stride(0);
    }
    const bool to_host = !device_->holds(call.out);
    run_slices(queue, s, input, output, call, to_host);
    if (count_here)
      queue.copy(s.counts.data(), s.clipped.data(), s.counts.size() * sizeof(std::uint64_t));
    write_valid(queue, s, output, total);
    if (to_host || count_here) queue.synchronise();
    if (count_here)
      for (std::size_t i = 0; i < s.counts.size(); ++i) output.clipped(i) += s.counts[i];
  }

  // Cuts the call's spectra: the samples of the first ones, which begin in the history, are joined;
  // those of whole granules after them are read in place; those of the rest are joined again.
  void run_slices(device::Queue& queue, GpuState& s, const Input& input, const OutputViews& output,
                  const Slice& call, bool to_host) const {
    // Corner-turned rows are cut at multiples of 16 values, so that pieces stay aligned.
    const std::size_t granule = std::lcm<std::size_t>(kernels_->granule(), 16);
    const std::size_t held = s.history.held(), hop = bank_->hop;
    const std::size_t in_history = (held + hop - 1) / hop;
    std::size_t begin = std::min(call.count, core::divide_up(in_history, granule) * granule);
    std::size_t end = begin + (call.count - begin) / kernels_->granule() * kernels_->granule();
    const std::byte* direct = static_cast<const std::byte*>(input.samples) +
                              (begin * hop - std::min(held, begin * hop)) * bank_->sample_bytes;
    if (begin == end || begin * hop < held || !usable(direct, input)) begin = end = call.count;
    run_staged(queue, s, input, output, call, 0, begin, to_host);
    const std::size_t step =
        to_host ? s.staging.spectra() : kernels_->most_spectra() / granule * granule;
    for (std::size_t first = begin; first < end; first += step) {
      Slice slice = cut(call, first, std::min(step, end - first));
      slice.samples = direct + (first - begin) * hop * bank_->sample_bytes;
      slice.row_bytes = input.row_stride_bytes;
      run_slice(queue, s, output, slice, to_host);
    }
    run_staged(queue, s, input, output, call, end, call.count, to_host);
  }

  bool usable(const std::byte* samples, const Input& input) const {
    const std::size_t alignment = kernels_->alignment();
    return device_->holds(samples) && reinterpret_cast<std::uintptr_t>(samples) % alignment == 0 &&
           (bank_->config.inputs == 1 || input.row_stride_bytes % alignment == 0);
  }

  Slice cut(const Slice& call, std::size_t first, std::size_t count) const {
    Slice slice = call;
    slice.first += first;
    slice.index += first;
    slice.count = count;
    const bool spectra = bank_->config.output == Output::spectra_float;
    slice.out += static_cast<std::ptrdiff_t>(first) * (spectra ? call.fast_stride : 1) *
                 static_cast<std::ptrdiff_t>(bank_->value_bytes());
    return slice;
  }

  void run_staged(device::Queue& queue, GpuState& s, const Input& input, const OutputViews& output,
                  const Slice& call, std::size_t begin, std::size_t end, bool to_host) const {
    for (std::size_t first = begin; first < end; first += s.staging.spectra()) {
      Slice slice = cut(call, first, std::min(s.staging.spectra(), end - first));
      s.staging.stage_samples(queue, s.history, input, slice);
      run_slice(queue, s, output, slice, to_host);
    }
  }

  void run_slice(device::Queue& queue, GpuState& s, const OutputViews& output, Slice slice,
                 bool to_host) const {
    if (to_host) s.staging.stage_results(slice);
    kernels_->run(queue, slice, s.work.data());
    if (to_host) s.staging.fetch_results(queue, slice, output);
  }

  void write_valid(device::Queue& queue, const GpuState& s, const OutputViews& output,
                   std::size_t total) const {
    const core::View<std::uint64_t, 2>& view = output.valid;
    if (view.empty()) return;
    const std::size_t words = core::validity_words(total);
    const bool on_device = device_->holds(view.data());
    for (std::size_t i = 0; i < bank_->config.inputs; ++i) {
      const std::uint64_t* bits = s.uploads.bits() + i * s.uploads.words();
      if (on_device)
        queue.copy(&view(i, std::size_t{0}), bits, words * sizeof(std::uint64_t));
      else
        for (std::size_t w = 0; w < words; ++w) view(i, w) = bits[w];
    }
  }

  DevicePointer device_;
  std::string origin_;
  GpuTunables tunables_;
  std::unique_ptr<Kernels> kernels_;
  std::shared_ptr<const device::Kernel> order_gains_;
};

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(BankPointer bank, DevicePointer device,
                                          const Tunables& tunables, std::string origin) {
  return std::make_shared<GpuPlan>(std::move(bank), std::move(device), tunables, std::move(origin));
}

}  // namespace tautline::stages::channelize::gpu
