// The plan on a GPU: rows stay in its memory, input from there is corner-turned and cleaned there,
// and gpu/kernels.h sums. Input in host memory goes through the host's cleaner.
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/gpu/state.h"

namespace tautline::stages::dedisperse {

namespace {

Types gpu_types(const DelayPlan& plan) {
  const std::size_t bytes = gpu_element_bytes(plan);
  return bytes == 1 ? Types::u8_u16 : bytes == 2 ? Types::u16_u32 : Types::f32_f32;
}

class GpuPlan final : public PlanOfDelays {
 public:
  GpuPlan(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
          const Tunables& tunables, const GpuCost& cost)
      : PlanOfDelays(std::move(plan)),
        device_(std::move(device)),
        element_bytes_(gpu_element_bytes(*plan_)),
        cleaner_(plan_, gpu_types(*plan_), device_->instruction_set()),
        gpu_cleaner_(std::make_shared<const GpuCleaner>(plan_, device_, element_bytes_)),
        sum_(plan_, device_, tunables.gpu, cost) {
    choice_ = sum_.choice();
    // The overlap is copied to the front when the rows are full, which must not overlap itself.
    row_elements_ = kMostTimesBefore + 2 * (plan_->max_delay() + plan_->max_new_samples() + 1) +
                    sum_.tile_times() + GpuSum::kBehind;
    row_elements_ = core::round_up(row_elements_ * element_bytes_, 128) / element_bytes_;
  }

  std::string backend() const override {
    return device_->api() == device::Api::cuda ? "cuda" : "opencl";
  }
  device::MemoryUse bytes() const override {
    const std::size_t fresh = plan_->max_new_samples() + 1;
    return {rows() * fresh * element_bytes_ + 2 * plan_->exact().samples.size() * 4 +
                Cleaner::Work::bytes(*plan_, 1),
            rows() * row_elements_ * element_bytes_ + sum_.bytes() + out_bytes() +
                gpu_cleaner_->bytes()};
  }
  std::unique_ptr<State> make_state(device::Queue& queue) const override;
  bool takes_device_memory() const override { return gpu_cleaner_->ready(); }
  Result execute(device::Queue& queue, State& state, const Input& input,
                 const core::MutableSampleView<3>& trials) const override;

 private:
  std::size_t rows() const { return config().beams * plan_->positions(); }
  std::size_t out_bytes() const {
    return 4 * config().beams * plan_->trials() * plan_->max_new_samples();
  }

  void make_room(device::Queue& queue, GpuState& state, std::size_t more) const;
  std::uint64_t take_from_host(device::Queue& queue, GpuState& state, const Input& input) const;
  void sum(device::Queue& queue, const GpuState& state, const core::MutableSampleView<3>& trials,
           std::size_t samples) const;

  std::shared_ptr<const device::Device> device_;
  std::size_t element_bytes_;
  Cleaner cleaner_;
  std::shared_ptr<const GpuCleaner> gpu_cleaner_;
  GpuSum sum_;
  std::size_t row_elements_ = 0;
};

std::unique_ptr<State> GpuPlan::make_state(device::Queue& queue) const {
  auto state =
      std::make_unique<GpuState>(plan_, element_bytes_, *device_, gpu_cleaner_, queue.workers());
  state->stride_bytes = row_elements_ * element_bytes_;
  state->staging_bytes = (plan_->max_new_samples() + 1) * element_bytes_;
  state->rows = device_->allocate(rows() * state->stride_bytes);
  state->staging = device_->allocate_pinned(rows() * state->staging_bytes);
  state->staged = device_->make_event();
  state->out = device_->allocate(out_bytes());
  queue.fill(state->rows.data(), 0, state->rows.bytes());
  state->lists = sum_.upload(queue);
  state->queue->synchronise();
  return state;
}

Result GpuPlan::execute(device::Queue& queue, State& state, const Input& given,
                        const core::MutableSampleView<3>& trials) const {
  auto& own = dynamic_cast<GpuState&>(state);
  const Step step = step_of(*plan_, own, given, trials);
  Result result;
  if (given.count == 0) return result;
  const Input input = with_strides(config(), given);
  make_room(queue, own, step.fresh);
  if (!device_->holds(input.data)) {
    result.not_finite = take_from_host(queue, own, input);
  } else if (gpu_cleaner_->ready()) {
    gpu_cleaner_->take(queue, own.cleaned, input, {own.rows.data(), own.stride_bytes},
                       own.first + own.held, own.phase);
  } else {
    throw core::Error(core::ErrorKind::unsupported, "dedisperse input", "in device memory",
                      "host memory where floats are cleaned, measured or downsampled");
  }
  sum(queue, own, trials, step.samples);
  queue.record(*own.done);
  step.take(own);
  own.first += step.samples;
  result.samples = step.samples;
  return result;
}

// Moves what is held to the front of the rows when `more` would not fit behind it.
void GpuPlan::make_room(device::Queue& queue, GpuState& state, std::size_t more) const {
  if (state.first + state.held + more + sum_.tile_times() + GpuSum::kBehind <= row_elements_)
    return;
  const std::size_t kept = state.held + (state.phase > 0 ? 1 : 0);
  if (kept > 0)
    queue.copy_rows(state.row(kMostTimesBefore), state.stride_bytes, state.row(state.first),
                    state.stride_bytes, kept * element_bytes_, rows());
  state.first = kMostTimesBefore;
}

// Rows from the host, with the element that was begun where there is one.
std::uint64_t GpuPlan::take_from_host(device::Queue& queue, GpuState& state,
                                      const Input& input) const {
  auto* staging = state.staging.as<std::byte>();
  std::byte* there = state.row(state.first + state.held);
  if (state.phase > 0) {
    queue.copy_rows(staging, state.staging_bytes, there, state.stride_bytes, element_bytes_,
                    rows());
    queue.synchronise();
  }
  state.staged->synchronise();  // the pinned rows have been read
  const std::uint64_t bad = cleaner_.take(
      queue, state.work, input, {staging, state.staging_bytes / element_bytes_, element_bytes_}, 0,
      state.phase);
  const std::size_t elements = core::divide_up(state.phase + input.count, config().downsample);
  queue.copy_rows(there, state.stride_bytes, staging, state.staging_bytes,
                  elements * element_bytes_, rows());
  queue.record(*state.staged);
  return bad;
}

void GpuPlan::sum(device::Queue& queue, const GpuState& state,
                  const core::MutableSampleView<3>& trials, std::size_t samples) const {
  if (samples == 0) return;
  const bool there = device_->holds(trials.data());
  const auto trial_stride = static_cast<std::size_t>(trials.stride(1));
  const auto beam_stride = static_cast<std::size_t>(trials.stride(0));
  const GpuSum::Out own{state.out.data(), samples, samples * plan_->trials(), samples};
  sum_.launch(queue, state.lists, {state.rows.data(), state.stride_bytes, state.first},
              there ? GpuSum::Out{trials.data(), trial_stride, beam_stride, samples} : own);
  for (std::size_t b = 0; b < config().beams && !there; ++b)
    queue.copy_rows(static_cast<std::byte*>(trials.data()) + 4 * b * beam_stride, 4 * trial_stride,
                    state.out.as<std::byte>() + 4 * b * own.beam_stride, 4 * samples, 4 * samples,
                    plan_->trials());
}

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables, const GpuCost& cost) {
  return std::make_shared<GpuPlan>(std::move(plan), std::move(device), tunables, cost);
}

}  // namespace tautline::stages::dedisperse
