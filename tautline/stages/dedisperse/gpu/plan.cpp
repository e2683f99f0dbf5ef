// The plan on a GPU: rows stay in its memory, input from there is corner-turned and cleaned there,
// and gpu/sum.h sums. Input in host memory goes through the host's cleaner.
#include <cstdint>
#include <cstring>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/gpu/clean.h"
#include "tautline/stages/dedisperse/gpu/dispatch.h"
#include "tautline/stages/dedisperse/gpu/state.h"
#include "tautline/stages/dedisperse/gpu/sum.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kTakeTile = 32, kCornerTurnTile = 128, kTakeThreads = 256, kWord = 4;

Types gpu_types(const DelayPlan& plan) {
  const std::size_t bytes = gpu_element_bytes(plan);
  return bytes == 1 ? Types::u8_u16 : bytes == 2 ? Types::u16_u32 : Types::f32_f32;
}

class GpuPlan final : public Plan {
 public:
  GpuPlan(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
          const Tunables& tunables, const GpuCost& cost)
      : plan_(std::move(plan)),
        device_(std::move(device)),
        types_(gpu_types(*plan_)),
        element_bytes_(gpu_element_bytes(*plan_)),
        cleaner_(plan_, types_, device_->instruction_set()),
        gpu_cleaner_(std::make_shared<const GpuCleaner>(plan_, device_, gpu_element_bytes(*plan_))),
        sum_(plan_, device_, element_bytes_, tunables.gpu, cost) {
    for (const int spectra : {0, 1}) {
      take_programs_[spectra] =
          jit::build(*device_, "dedisperse/gpu/take.kernel",
                     jit::Defines().set("BITS", config().bits).set("SPECTRA", spectra));
      take_[spectra] = take_programs_[spectra]->kernel("take");
    }
    if (config().bits == 8) {
      corner_turn_program_ = jit::build(*device_, "dedisperse/gpu/corner_turn.kernel", {});
      corner_turn_ = corner_turn_program_->kernel("corner_turn");
    }
    // The overlap is copied to the front when the rows are full, which must not overlap itself.
    row_elements_ = kMostTimesBefore + 2 * (plan_->max_delay() + plan_->max_new_samples() + 1) +
                    sum_.tile_times() + GpuSum::kBehind;
    row_elements_ = (row_elements_ * element_bytes_ + 127) / 128 * 128 / element_bytes_;
  }

  const Config& config() const override { return plan_->config(); }
  std::string backend() const override {
    return device_->api() == device::Api::cuda ? "cuda" : "opencl";
  }
  const Choice& choice() const override { return sum_.choice(); }
  device::MemoryUse bytes() const override {
    const std::size_t rows = config().beams * plan_->positions();
    const std::size_t fresh = plan_->max_new_samples() + 1;
    return {rows * fresh * element_bytes_ + 2 * plan_->exact().samples.size() * 4 +
                Cleaner::Work::bytes(*plan_, 1),
            rows * row_elements_ * element_bytes_ + sum_.bytes() + 4 * plan_->channels() +
                out_bytes() + gpu_cleaner_->bytes()};
  }
  std::unique_ptr<State> make_state(device::Queue& queue) const override;
  bool float_output() const override { return plan_->float_sums(); }
  bool takes_device_memory() const override {
    return corner_turned_there() || gpu_cleaner_->ready();
  }
  std::size_t max_delay() const override { return plan_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const override {
    return plan_->delay(trial, channel);
  }
  std::size_t max_output_samples() const override { return plan_->max_new_samples(); }
  Result execute(device::Queue& queue, State& state, const Input& input,
                 const OutputViews& output) const override;

 private:
  std::size_t out_bytes() const {
    return 4 * config().beams * plan_->trials() * plan_->max_new_samples();
  }
  // Whether input in the device's memory needs nothing but a corner turn.
  bool corner_turned_there() const { return !GpuCleaner::needed(*plan_, element_bytes_); }

  void make_room(device::Queue& queue, GpuState& state, std::size_t more) const;
  bool whole_words(const Input& input) const;
  void take(device::Queue& queue, const GpuState& state, const Input& input) const;
  void take_cleaned(device::Queue& queue, GpuState& state, const Input& input) const;
  std::uint64_t take_from_host(device::Queue& queue, GpuState& state, const Input& input) const;
  template <class T>
  void sum(device::Queue& queue, const GpuState& state, const core::View<T, 3>& output,
           std::size_t samples) const;

  std::shared_ptr<const DelayPlan> plan_;
  std::shared_ptr<const device::Device> device_;
  Types types_;
  std::size_t element_bytes_;
  Cleaner cleaner_;
  std::shared_ptr<const GpuCleaner> gpu_cleaner_;
  GpuSum sum_;
  std::size_t row_elements_ = 0;
  std::shared_ptr<const device::Program> take_programs_[2];
  std::shared_ptr<const device::Kernel> take_[2];
  std::shared_ptr<const device::Program> corner_turn_program_;  ///< of bytes
  std::shared_ptr<const device::Kernel> corner_turn_;
};

std::unique_ptr<State> GpuPlan::make_state(device::Queue& queue) const {
  auto state = std::make_unique<GpuState>(*plan_, *device_, gpu_cleaner_, queue.workers());
  state->count = config().beams * plan_->positions();
  state->element_bytes = element_bytes_;
  state->stride_bytes = row_elements_ * element_bytes_;
  state->staging_bytes = (plan_->max_new_samples() + 1) * element_bytes_;
  state->front = state->first = kMostTimesBefore;
  state->rows = device_->allocate(state->count * state->stride_bytes);
  state->staging = device_->allocate_pinned(state->count * state->staging_bytes);
  state->staged = device_->make_event();
  state->out = device_->allocate(out_bytes());
  std::vector<std::uint32_t> positions(plan_->channels(),
                                       static_cast<std::uint32_t>(plan_->positions()));
  for (std::size_t p = 0; p < plan_->positions(); ++p)
    positions[plan_->channel_at()[p]] = static_cast<std::uint32_t>(p);
  queue.fill(state->rows.data(), 0, state->rows.bytes());
  state->positions = device_->allocate(4 * positions.size());
  queue.copy(state->positions.data(), positions.data(), 4 * positions.size());
  state->lists = sum_.upload(queue);
  queue.synchronise();
  return state;
}

Result GpuPlan::execute(device::Queue& queue, State& state, const Input& given,
                        const OutputViews& output) const {
  auto& own = dynamic_cast<GpuState&>(state);
  const std::size_t times = own.phase + given.count;
  const std::size_t fresh = times / config().downsample;
  const std::size_t complete = own.held + fresh;
  const std::size_t samples = complete > max_delay() ? complete - max_delay() : 0;
  require_call(*plan_, given, output, samples);
  Result result;
  if (given.count == 0) return result;
  const Input input = with_strides(*plan_, given);
  make_room(queue, own, fresh);
  if (!device_->holds(input.data)) {
    result.not_finite = take_from_host(queue, own, input);
  } else if (corner_turned_there()) {
    take(queue, own, input);
  } else if (gpu_cleaner_->ready()) {
    take_cleaned(queue, own, input);
  } else {
    throw core::Error(core::ErrorKind::unsupported, "dedisperse input", "in device memory",
                      "host memory where floats are cleaned, measured or downsampled");
  }
  own.phase = times % config().downsample;
  if (plan_->float_sums()) {
    sum(queue, own, output.floats, samples);
  } else {
    sum(queue, own, output.integers, samples);
  }
  queue.record(*own.done);
  own.held = complete - samples;
  own.first += samples;
  result.samples = samples;
  return result;
}

// Moves what is held to the front of the rows when `more` would not fit behind it.
void GpuPlan::make_room(device::Queue& queue, GpuState& state, std::size_t more) const {
  if (state.first + state.held + more + sum_.tile_times() + GpuSum::kBehind <= row_elements_)
    return;
  const std::size_t kept = state.held + (state.begun_there && state.phase > 0 ? 1 : 0);
  if (kept > 0)
    queue.copy_rows(state.rows.as<std::byte>() + state.front * element_bytes_, state.stride_bytes,
                    state.rows.as<std::byte>() + state.first * element_bytes_, state.stride_bytes,
                    kept * element_bytes_, state.count);
  state.first = state.front;
}

// Whether spectra may be corner-turned a word at a time.
bool GpuPlan::whole_words(const Input& input) const {
  return corner_turn_ && input.layout == Input::Layout::spectra && plan_->channels() % kWord == 0 &&
         input.stride_bytes % kWord == 0 && input.beam_stride_bytes % kWord == 0 &&
         reinterpret_cast<std::uintptr_t>(input.data) % kWord == 0;
}

void GpuPlan::take(device::Queue& queue, const GpuState& state, const Input& input) const {
  const bool spectra = input.layout == Input::Layout::spectra;
  const device::Argument arguments[] = {
      input.data,
      state.positions.data(),
      state.rows.data(),
      static_cast<std::uint64_t>(input.stride_bytes),
      static_cast<std::uint64_t>(input.beam_stride_bytes),
      static_cast<std::uint32_t>(plan_->channels()),
      static_cast<std::uint32_t>(input.count),
      static_cast<std::uint32_t>(plan_->positions()),
      static_cast<std::uint64_t>(state.stride_bytes),
      static_cast<std::uint64_t>(state.stride_bytes * plan_->positions()),
      static_cast<std::uint64_t>(state.first + state.held)};
  const bool words = whole_words(input);
  const std::size_t tile = words ? kCornerTurnTile : kTakeTile;
  const std::size_t times = input.count + (words ? (state.first + state.held) % kWord : 0);
  queue.launch(
      words ? *corner_turn_ : *take_[spectra ? 1 : 0],
      {.groups = {(times + tile - 1) / tile, (plan_->channels() + tile - 1) / tile, config().beams},
       .threads = {kTakeThreads, 1, 1}},
      arguments);
}

void GpuPlan::take_cleaned(device::Queue& queue, GpuState& state, const Input& input) const {
  if (state.phase > 0 && !state.begun_there) {
    queue.copy_rows(state.rows.as<std::byte>() + (state.first + state.held) * element_bytes_,
                    state.stride_bytes, state.staging.data(), state.staging_bytes, element_bytes_,
                    state.count);
    queue.record(*state.staged);
  }
  state.begun_there = true;
  gpu_cleaner_->take(queue, state.cleaned, input,
                     {state.rows.data(), state.positions.data(), state.stride_bytes},
                     state.first + state.held, state.phase);
}

std::uint64_t GpuPlan::take_from_host(device::Queue& queue, GpuState& state,
                                      const Input& input) const {
  state.staged->synchronise();  // the pinned rows have been read
  auto* staging = state.staging.as<std::byte>();
  if (state.phase > 0) state.fetch_begun(queue, staging, state.staging_bytes);
  state.begun_there = false;
  const std::uint64_t bad = cleaner_.take(
      queue, state.work, input, {staging, state.staging_bytes / element_bytes_, element_bytes_}, 0,
      state.phase);
  const std::size_t fresh = (state.phase + input.count) / config().downsample;
  if (fresh > 0)
    queue.copy_rows(state.rows.as<std::byte>() + (state.first + state.held) * element_bytes_,
                    state.stride_bytes, staging, state.staging_bytes, fresh * element_bytes_,
                    state.count);
  queue.record(*state.staged);
  if ((state.phase + input.count) % config().downsample != 0 && fresh > 0) {
    state.staged->synchronise();
    for (std::size_t r = 0; r < state.count; ++r)
      std::memcpy(staging + r * state.staging_bytes,
                  staging + r * state.staging_bytes + fresh * element_bytes_, element_bytes_);
  }
  return bad;
}

template <class T>
void GpuPlan::sum(device::Queue& queue, const GpuState& state, const core::View<T, 3>& output,
                  std::size_t samples) const {
  if (samples == 0) return;
  const bool there = device_->holds(output.data());
  const std::size_t trial_stride = there ? static_cast<std::size_t>(output.stride(1)) : samples;
  const std::size_t beam_stride =
      there ? static_cast<std::size_t>(output.stride(0)) : samples * plan_->trials();
  const void* out = there ? static_cast<const void*>(output.data()) : state.out.data();
  sum_.launch(queue, state.lists, {state.rows.data(), state.stride_bytes, state.first},
              {out, trial_stride, beam_stride, samples});
  if (there) return;
  for (std::size_t b = 0; b < config().beams; ++b)
    queue.copy_rows(output.row(b, std::size_t{0}), static_cast<std::size_t>(output.stride(1)) * 4,
                    state.out.as<std::byte>() + 4 * b * beam_stride, 4 * samples, 4 * samples,
                    plan_->trials());
}

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables, const GpuCost& cost) {
  return std::make_shared<GpuPlan>(std::move(plan), std::move(device), tunables, cost);
}

}  // namespace tautline::stages::dedisperse
