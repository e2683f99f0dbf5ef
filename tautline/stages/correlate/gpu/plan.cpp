// Buffers in device memory are used in place, and nothing waits. Samples in host memory, or in a
// form that the kernel does not read, pass through the state's buffers some channels (a slab) at a
// time; visibilities and counts in host memory, or with strides, are summed in the state's buffers
// and added to the caller's.
#include "tautline/stages/correlate/gpu/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tautline/core/byte_archive.h"
#include "tautline/core/error.h"
#include "tautline/stages/correlate/backends.h"
#include "tautline/stages/correlate/gpu/dispatch.h"
#include "tautline/stages/correlate/gpu/prepare.h"
#include "tautline/stages/correlate/gpu/sum_adder.h"

namespace tautline::stages::correlate::gpu {

namespace {

using DevicePointer = std::shared_ptr<const device::Device>;

class GpuState final : public State {
 public:
  GpuState(std::string plan, DevicePointer device)
      : State(std::move(plan)), done(device->make_event()), device_(std::move(device)) {}

  void reset() override {
    State::reset();
    deferred_samples = deferred_counts = 0;
    replace_sums = replace_counts = false;
  }

  SamplePreparer::Memory samples;
  SumAdder::Memory sums;
  // Since the last flush, with Config::defer_sums.
  device::Buffer deferred;
  std::uint64_t deferred_samples = 0;  // in `deferred`
  std::uint64_t deferred_counts = 0;   // to add to the counts of all baselines
  // Whether the next sums and counts overwrite the caller's buffers.
  bool replace_sums = false, replace_counts = false;
  std::unique_ptr<device::Event> done;  // the last kernel that uses `deferred`

 private:
  void save_sums(core::ByteWriter& write) const override {
    write(deferred_samples), write(deferred_counts);
    write(std::uint8_t{replace_sums}), write(std::uint8_t{replace_counts});
    std::vector<std::byte> bytes(deferred_samples > 0 ? deferred.bytes() : 0);
    if (!bytes.empty()) copy(bytes.data(), deferred.data());
    write(bytes);
  }
  void load_sums(core::ByteReader& read) override {
    std::uint64_t samples_read = 0, counts_read = 0;
    std::uint8_t sums_replaced = 0, counts_replaced = 0;
    std::vector<std::byte> bytes;
    read(samples_read), read(counts_read), read(sums_replaced), read(counts_replaced), read(bytes);
    if (bytes.size() != (samples_read > 0 ? deferred.bytes() : 0)) read.refuse();
    if (!bytes.empty()) copy(deferred.data(), bytes.data());
    deferred_samples = samples_read, deferred_counts = counts_read;
    replace_sums = sums_replaced != 0, replace_counts = counts_replaced != 0;
  }
  void copy(void* to, const void* from) const {
    done->synchronise();
    const auto queue = device_->make_queue();
    queue->copy(to, from, deferred.bytes());
    queue->synchronise();
  }

  DevicePointer device_;
};

class GpuPlan final : public Plan {
 public:
  GpuPlan(const Config& config, DevicePointer device, const GpuTunables& tunables,
          std::string origin)
      : Plan(config),
        device_(std::move(device)),
        origin_(std::move(origin)),
        kernel_(choose_kernel(config, device_, tunables)),
        preparer_(config, *device_, *kernel_),
        adder_(config, *device_),
        slab_channels_(slab_channels(tunables)) {}

  std::string backend() const override {
    return (device_->api() == device::Api::cuda ? "cuda " : "opencl ") + kernel_->name() +
           (kernel_->deferred_bytes() > 0 ? ", sums deferred" : "") +
           (origin_.empty() ? "" : " (" + origin_ + ")");
  }
  device::MemoryUse bytes() const override {
    const device::MemoryUse samples = preparer_.bytes(slab_channels_);
    const device::MemoryUse sums = adder_.bytes(slab_channels_);
    return {samples.host_bytes + sums.host_bytes,
            samples.device_bytes + sums.device_bytes + kernel_->deferred_bytes()};
  }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    const std::string deferred =
        fmt::format("{} of {} multiprocessors, {} samples", kernel_->deferred_bytes(),
                    device_->properties().multiprocessors, config().max_samples);
    auto state = std::make_unique<GpuState>(
        state_plan(config(), kernel_->deferred_bytes() > 0 ? deferred : "counts"), device_);
    state->samples = preparer_.make_memory(*device_, slab_channels_);
    state->sums = adder_.make_memory(*device_, slab_channels_);
    if (kernel_->deferred_bytes() > 0)
      state->deferred = device_->allocate(kernel_->deferred_bytes());
    return state;
  }

 private:
  std::size_t slab_channels(const GpuTunables& tunables) const {
    constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
    if (tunables.slab_bytes < kLeastBytes)
      throw core::Error(core::ErrorKind::config, "correlate GPU tunable slab_bytes",
                        std::to_string(tunables.slab_bytes),
                        std::to_string(kLeastBytes) + " or more");
    const std::size_t channel = std::max(preparer_.channel_bytes(), adder_.channel_bytes());
    return std::clamp<std::size_t>(tunables.slab_bytes / channel, 1, config().channels);
  }

  // Whether a kernel can add to the visibilities in place.
  bool add_in_place(const core::MutableSampleView<2>& v) const {
    return device_->holds(v.data()) &&
           reinterpret_cast<std::uintptr_t>(v.data()) % kVisibilityBytes == 0 &&
           (v.extent(1) == 1 || v.stride(1) == 1) &&
           (v.extent(0) == 1 || v.stride(0) == static_cast<std::ptrdiff_t>(v.extent(1)));
  }

  void add(device::Queue& queue, State& state, const core::SampleView<3>& samples,
           const Validity& validity, const core::MutableSampleView<2>& visibilities,
           const Counts& counts) const override {
    auto& own = dynamic_cast<GpuState&>(state);
    note_begin(own);
    // A mask in device memory cannot be read here without waiting, so it may have invalid samples.
    const bool masked = validity.data() != nullptr &&
                        (device_->holds(validity.data()) || has_holes(validity, samples.extent(2)));
    const bool in_place = !masked && preparer_.usable_in_place(*device_, samples) &&
                          add_in_place(visibilities) && device_->holds(counts.data());
    if (config().defer_sums && !masked) {
      own.deferred_counts += samples.extent(2);
      if (in_place && defer(queue, own, samples, visibilities)) return;
    }
    const std::size_t step = in_place ? config().channels : slab_channels_;
    const bool counted = masked || !config().defer_sums;
    for (std::size_t first = 0; first < config().channels; first += step) {
      const std::size_t count = std::min(step, config().channels - first);
      run_slab(queue, own, samples.slice(0, first, count),
               masked ? validity.slice(0, first, count) : Validity(),
               visibilities.slice(0, first, count), counts.slice(0, first, count));
    }
    own.replace_sums = false;
    if (counted) own.replace_counts = false;
  }

  static void note_begin(GpuState& state) {
    if (state.take_begin()) state.replace_sums = state.replace_counts = true;
  }

  // Adds `samples` to the deferred sums. False if the kernel cannot.
  bool defer(device::Queue& queue, GpuState& state, const core::SampleView<3>& samples,
             const core::MutableSampleView<2>& visibilities) const {
    const std::size_t count = samples.extent(2);
    if (kernel_->deferred_bytes() == 0 || count > kernel_->deferred_samples()) return false;
    if (state.deferred_samples + count > kernel_->deferred_samples())
      flush_sums(queue, state, visibilities);
    kernel_->defer(queue, preparer_.in_place(samples), state.deferred.data(),
                   state.deferred_samples == 0);
    queue.record(*state.done);
    state.deferred_samples += count;
    return true;
  }

  void flush_sums(device::Queue& queue, GpuState& state,
                  const core::MutableSampleView<2>& visibilities) const {
    if (state.deferred_samples == 0) return;
    if (!add_in_place(visibilities))
      throw core::Error(core::ErrorKind::config, "correlate flush's visibilities", "other ones",
                        "dense and in the device's memory, as execute's were");
    kernel_->flush(queue, state.deferred.data(), visibilities.data(),
                   std::exchange(state.replace_sums, false));
    queue.record(*state.done);
    state.deferred_samples = 0;
  }

  void add_deferred(device::Queue& queue, State& state,
                    const core::MutableSampleView<2>& visibilities,
                    const Counts& counts) const override {
    auto& own = dynamic_cast<GpuState&>(state);
    note_begin(own);
    flush_sums(queue, own, visibilities);
    if (std::exchange(own.replace_sums, false)) adder_.clear(queue, *device_, visibilities);
    const bool replace = std::exchange(own.replace_counts, false);
    if (own.deferred_counts > 0 || replace)
      adder_.add_counts(queue, *device_, own.sums, {}, own.deferred_counts, counts, replace);
    own.deferred_counts = 0;
  }

  void run_slab(device::Queue& queue, GpuState& state, const core::SampleView<3>& samples,
                const Validity& validity, const core::MutableSampleView<2>& visibilities,
                const Counts& counts) const {
    DeviceMask mask;
    if (validity.data() != nullptr)
      mask = preparer_.mask_on_device(queue, *device_, state.samples, validity);
    if (mask.data != nullptr || !config().defer_sums)
      adder_.add_counts(queue, *device_, state.sums, mask, samples.extent(2), counts,
                        state.replace_counts);
    const GpuSamples ready = mask.data == nullptr && preparer_.usable_in_place(*device_, samples)
                                 ? preparer_.in_place(samples)
                                 : preparer_.prepare(queue, *device_, state.samples, samples, mask);
    if (add_in_place(visibilities)) {
      if (state.replace_sums)
        kernel_->store(queue, ready, visibilities.data(), visibilities.size() * kVisibilityBytes);
      else
        kernel_->add(queue, ready, visibilities.data());
      return;
    }
    if (state.replace_sums) adder_.clear(queue, *device_, visibilities);
    kernel_->store(queue, ready, state.sums.sums.data(), visibilities.size() * kVisibilityBytes);
    adder_.add_sums(queue, *device_, state.sums, visibilities);
  }

  DevicePointer device_;
  std::string origin_;
  GpuKernelPointer kernel_;
  SamplePreparer preparer_;
  SumAdder adder_;
  std::size_t slab_channels_;
};

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(const Config& config, DevicePointer device,
                                          const GpuTunables& tunables, std::string origin) {
  return std::make_shared<GpuPlan>(config, std::move(device), tunables, std::move(origin));
}

}  // namespace tautline::stages::correlate::gpu
