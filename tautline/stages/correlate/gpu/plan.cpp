// Buffers in device memory are used in place, and nothing waits. Samples in host memory, or in a
// form that the kernel does not read, pass through the state's buffers some channels (a slab) at a
// time; visibilities and counts in host memory, or with strides, are summed in the state's buffers
// and added to the caller's.
#include "tautline/stages/correlate/gpu/plan.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/checks.h"
#include "tautline/stages/correlate/gpu/dispatch.h"
#include "tautline/stages/correlate/gpu/prepare.h"
#include "tautline/stages/correlate/gpu/sums.h"

namespace tautline::stages::correlate::gpu {

namespace {

using DevicePointer = std::shared_ptr<const device::Device>;

class GpuState final : public State {
 public:
  SamplePreparer::Memory samples;
  SumAdder::Memory sums;
  device::Buffer work;
  // Since the last flush, with Config::defer_sums.
  device::Buffer deferred;
  std::size_t deferred_samples = 0;  // in `deferred`
  std::size_t deferred_counts = 0;   // to add to the counts of all baselines
  // Whether the next sums and counts overwrite the caller's buffers.
  bool replace_sums = false, replace_counts = false;
};

class GpuPlan final : public Plan {
 public:
  GpuPlan(const Config& config, DevicePointer device, const GpuTunables& tunables,
          std::string origin)
      : config_(config),
        device_(std::move(device)),
        origin_(std::move(origin)),
        kernel_(choose_kernel(config_, device_, tunables)),
        preparer_(config_, *device_, *kernel_),
        adder_(config_, *device_),
        slab_channels_(slab_channels(tunables)) {}

  const Config& config() const override { return config_; }
  std::string backend() const override {
    return (device_->api() == device::Api::cuda ? "cuda " : "opencl ") + kernel_->name() +
           (kernel_->deferred_bytes() > 0 ? ", sums deferred" : "") +
           (origin_.empty() ? "" : " (" + origin_ + ")");
  }
  device::MemoryUse bytes() const override {
    const device::MemoryUse samples = preparer_.bytes(slab_channels_);
    const device::MemoryUse sums = adder_.bytes(slab_channels_);
    return {samples.host_bytes + sums.host_bytes, samples.device_bytes + sums.device_bytes +
                                                      kernel_->work_bytes() +
                                                      kernel_->deferred_bytes()};
  }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    auto state = std::make_unique<GpuState>();
    state->samples = preparer_.make_memory(*device_, slab_channels_);
    state->sums = adder_.make_memory(*device_, slab_channels_);
    if (kernel_->work_bytes() > 0) state->work = device_->allocate(kernel_->work_bytes());
    if (kernel_->deferred_bytes() > 0)
      state->deferred = device_->allocate(kernel_->deferred_bytes());
    return state;
  }

  void execute(device::Queue& queue, State& state, const Samples<core::ci8>& samples,
               const Validity& validity, const IntegerVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<core::ci4>& samples,
               const Validity& validity, const IntegerVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<core::ci16>& samples,
               const Validity& validity, const FloatVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<core::cf16>& samples,
               const Validity& validity, const FloatVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<std::complex<float>>& samples,
               const Validity& validity, const FloatVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }

  void flush(device::Queue& queue, State& state, const IntegerVisibilities& visibilities,
             const Counts& counts) const override {
    flush_all(queue, state, visibilities, counts);
  }
  void flush(device::Queue& queue, State& state, const FloatVisibilities& visibilities,
             const Counts& counts) const override {
    flush_all(queue, state, visibilities, counts);
  }

 private:
  std::size_t slab_channels(const GpuTunables& tunables) const {
    constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
    if (tunables.slab_bytes < kLeastBytes)
      throw core::Error(core::ErrorKind::config, "correlate GPU tunable slab_bytes",
                        std::to_string(tunables.slab_bytes),
                        std::to_string(kLeastBytes) + " or more");
    const std::size_t channel = std::max(preparer_.channel_bytes(), adder_.channel_bytes());
    return std::clamp<std::size_t>(tunables.slab_bytes / channel, 1, config_.channels);
  }

  // Whether a kernel can add to the visibilities in place.
  template <class Visibility>
  bool add_in_place(const core::View<Visibility, 2>& v) const {
    return device_->holds(v.data()) &&
           reinterpret_cast<std::uintptr_t>(v.data()) % sizeof(Visibility) == 0 &&
           (v.extent(1) == 1 || v.stride(1) == 1) &&
           (v.extent(0) == 1 || v.stride(0) == static_cast<std::ptrdiff_t>(v.extent(1)));
  }

  template <class Sample, class View>
  void run(device::Queue& queue, State& state, const Samples<Sample>& samples,
           const Validity& validity, const View& visibilities, const Counts& counts) const {
    check_call(config_, samples, validity, visibilities, counts);
    if (samples.extent(2) == 0) return;
    auto& own = dynamic_cast<GpuState&>(state);
    note_begin(own);
    // A mask in device memory cannot be read here without waiting, so it may have invalid samples.
    const bool masked = validity.data() != nullptr &&
                        (device_->holds(validity.data()) || has_holes(validity, samples.extent(2)));
    const bool in_place = !masked && preparer_.usable_in_place(*device_, RawSamples(samples)) &&
                          add_in_place(visibilities) && device_->holds(counts.data());
    if (config_.defer_sums && !masked) {
      own.deferred_counts += samples.extent(2);
      if (in_place && defer(queue, own, samples, visibilities)) return;
    }
    const std::size_t step = in_place ? config_.channels : slab_channels_;
    const bool counted = masked || !config_.defer_sums;
    for (std::size_t first = 0; first < config_.channels; first += step) {
      const std::size_t count = std::min(step, config_.channels - first);
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
  template <class Sample, class View>
  bool defer(device::Queue& queue, GpuState& state, const Samples<Sample>& samples,
             const View& visibilities) const {
    const std::size_t count = samples.extent(2);
    if (kernel_->deferred_bytes() == 0 || count > kernel_->deferred_samples()) return false;
    if (state.deferred_samples + count > kernel_->deferred_samples())
      flush_sums(queue, state, visibilities);
    kernel_->defer(queue, preparer_.in_place(RawSamples(samples)), state.deferred.data(),
                   state.deferred_samples == 0);
    state.deferred_samples += count;
    return true;
  }

  template <class View>
  void flush_sums(device::Queue& queue, GpuState& state, const View& visibilities) const {
    if (state.deferred_samples == 0) return;
    if (!add_in_place(visibilities))
      throw core::Error(core::ErrorKind::config, "correlate flush's visibilities", "other ones",
                        "dense and in the device's memory, as execute's were");
    kernel_->flush(queue, state.deferred.data(), visibilities.data(),
                   std::exchange(state.replace_sums, false));
    state.deferred_samples = 0;
  }

  template <class View>
  void flush_all(device::Queue& queue, State& state, const View& visibilities,
                 const Counts& counts) const {
    check_shapes(config_, {{config_.channels, config_.inputs, 0},
                           true,
                           {},
                           1,
                           visibilities.extents(),
                           counts.extents()});
    auto& own = dynamic_cast<GpuState&>(state);
    note_begin(own);
    flush_sums(queue, own, visibilities);
    if (std::exchange(own.replace_sums, false)) adder_.clear(queue, *device_, visibilities);
    const bool replace = std::exchange(own.replace_counts, false);
    if (own.deferred_counts > 0 || replace)
      adder_.add_counts(queue, *device_, own.sums, {}, own.deferred_counts, counts, replace);
    own.deferred_counts = 0;
  }

  template <class Sample, class View>
  void run_slab(device::Queue& queue, GpuState& state, const Samples<Sample>& samples,
                const Validity& validity, const View& visibilities, const Counts& counts) const {
    DeviceMask mask;
    if (validity.data() != nullptr)
      mask = preparer_.mask_on_device(queue, *device_, state.samples, validity);
    if (mask.data != nullptr || !config_.defer_sums)
      adder_.add_counts(queue, *device_, state.sums, mask, samples.extent(2), counts,
                        state.replace_counts);
    const RawSamples raw(samples);
    const GpuSamples ready = mask.data == nullptr && preparer_.usable_in_place(*device_, raw)
                                 ? preparer_.in_place(raw)
                                 : preparer_.prepare(queue, *device_, state.samples, raw, mask);
    if (add_in_place(visibilities)) {
      if (state.replace_sums)
        kernel_->store(queue, ready, visibilities.data(),
                       visibilities.size() * sizeof(*visibilities.data()), state.work.data());
      else
        kernel_->add(queue, ready, visibilities.data(), state.work.data());
      return;
    }
    if (state.replace_sums) adder_.clear(queue, *device_, visibilities);
    kernel_->store(queue, ready, state.sums.sums.data(),
                   visibilities.size() * sizeof(*visibilities.data()), state.work.data());
    adder_.add_sums(queue, *device_, state.sums, visibilities);
  }

  Config config_;
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
