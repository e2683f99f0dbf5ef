// The plan on the host's cores: rows in the state, tiles of times and blocks of trials shared out.
#include <fmt/format.h>
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/cpu/rows_ahead.h"
#include "tautline/stages/dedisperse/cpu/work_list.h"
#include "tautline/stages/dedisperse/saved_state.h"

namespace tautline::stages::dedisperse {

namespace {

// Rows are read this many elements beyond their last one: a granule, and a vector.
constexpr std::size_t kOverread = kGranule + 64;

class CpuState final : public State {
 public:
  CpuState(const DelayPlan& plan, std::size_t row_elements, std::size_t element_bytes,
           std::size_t worker_bytes, std::size_t workers)
      : work(plan, workers),
        rows_memory(plan.config().beams * plan.positions() * row_elements * element_bytes),
        rows{rows_memory.as<std::byte>(), row_elements, element_bytes},
        count(plan.config().beams * plan.positions()) {
    for (std::size_t w = 0; w < workers; ++w) scratch.emplace_back(worker_bytes);
  }

  void reset() override {
    first = held = phase = 0;
    work.reset_moments();
  }
  std::size_t held_samples() const override { return held; }
  std::vector<Moments> moments() const override { return work.moments(); }

  std::vector<std::byte> save() const override {
    SavedState saved;
    saved.put(held);
    saved.put(phase);
    for (std::size_t r = 0; r < count; ++r)
      saved.put_raw(rows.at(r, first), kept() * rows.element_bytes);
    saved.put_all(work.moments());
    return saved.bytes();
  }
  void load(const std::vector<std::byte>& bytes) override {
    SavedState saved(bytes);
    first = 0;
    held = saved.get<std::size_t>();
    phase = saved.get<std::size_t>();
    if (held >= rows.stride || kept() > rows.stride)
      throw core::Error(core::ErrorKind::format, "dedisperse saved state",
                        std::to_string(held) + " times", "what a state of this plan saved");
    for (std::size_t r = 0; r < count; ++r)
      saved.get_raw(rows.at(r, 0), kept() * rows.element_bytes);
    std::vector<Moments> moments;
    saved.get_all(moments);
    saved.require_end();
    work.set_moments(moments);
  }

  /// Elements of every row that count, the unfinished one too.
  std::size_t kept() const { return held + (phase > 0 ? 1 : 0); }

  Cleaner::Work work;
  device::Buffer rows_memory;
  Rows rows;
  std::size_t count;
  std::size_t first = 0;                ///< element of the first time held
  std::size_t held = 0;                 ///< complete times
  std::size_t phase = 0;                ///< times of the input in the element behind them
  std::vector<device::Buffer> scratch;  ///< of each worker
};

class CpuPlan final : public Plan {
 public:
  CpuPlan(std::shared_ptr<const DelayPlan> plan, const device::Device& device,
          const Tunables& tunables, const CpuCost& cost)
      : plan_(std::move(plan)),
        types_(types_for(*plan_)),
        kernels_(kernels_for(device.instruction_set(), types_)),
        cleaner_(plan_, types_, device.instruction_set()),
        workers_(device.make_queue()->workers()) {
    const WorkLimits limits = limits_for(*plan_, tunables);
    work_ = make_work_list(*plan_, choose_cut(*plan_, tunables, limits, cost), limits, cost);
    choice_ = describe();
    const std::size_t output_bytes =
        config().beams * plan_->trials() * plan_->max_new_samples() * sizeof(std::int32_t);
    streams_ = output_bytes >= tunables.streamed_bytes && types_ != Types::i32_i32;
    // Room to move the overlap to the front only now and then.
    const std::size_t elements =
        plan_->max_delay() + plan_->max_delay() / 2 + 2 * plan_->max_new_samples() + 2 + kOverread;
    const std::size_t lines = (elements * kernels_.row_bytes + 63) / 64;
    row_elements_ = (lines | 1) * 64 / kernels_.row_bytes;
  }

  const Config& config() const override { return plan_->config(); }
  std::string backend() const override { return std::string(device::to_string(kernels_.set)); }
  const Choice& choice() const override { return choice_; }
  device::MemoryUse bytes() const override {
    const std::size_t rows = config().beams * plan_->positions() * row_elements_;
    return {rows * kernels_.row_bytes + workers_ * worker_bytes() + work_.bytes() +
                2 * plan_->exact().samples.size() * sizeof(std::int32_t) +
                Cleaner::Work::bytes(*plan_, workers_),
            0};
  }
  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<CpuState>(*plan_, row_elements_, kernels_.row_bytes, worker_bytes(),
                                      workers_);
  }
  bool float_output() const override { return plan_->float_sums(); }
  std::size_t max_delay() const override { return plan_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const override {
    return plan_->delay(trial, channel);
  }
  std::size_t max_output_samples() const override { return plan_->max_new_samples(); }

  Result execute(device::Queue& queue, State& state, const Input& input,
                 const OutputViews& output) const override {
    auto& own = dynamic_cast<CpuState&>(state);
    const std::size_t times = own.phase + input.count;
    const std::size_t complete = own.held + times / config().downsample;
    const std::size_t samples = complete > max_delay() ? complete - max_delay() : 0;
    require_call(*plan_, input, output, samples);

    Result result;
    make_room(queue, own, times / config().downsample + 1);
    result.not_finite =
        cleaner_.take(queue, own.work, input, own.rows, own.first + own.held, own.phase);
    if (plan_->float_sums()) {
      sum(queue, own, output.floats, samples);
    } else {
      sum(queue, own, output.integers, samples);
    }
    own.phase = times % config().downsample;
    own.held = complete - samples;
    own.first += samples;
    result.samples = samples;
    return result;
  }

 private:
  // Of the trials of a block, and their carries.
  std::size_t sums_elements() const { return work_.sums_elements() * (work_.carries ? 2 : 1); }
  std::size_t worker_bytes() const {
    return (sums_elements() + work_.scratch_elements + kOverread) * kernels_.sum_bytes;
  }

  Choice describe() const {
    const WorkCut& cut = work_.cut;
    const std::string groups =
        cut.levels == 0 ? "" : fmt::format("groups of {}, ", std::size_t{1} << cut.levels);
    return plan_->choice(cut.levels == 0 ? Method::exact : Method::shared, work_.counted_adds,
                         fmt::format("{}tiles of {} times x {} trials", groups, cut.time_tile,
                                     std::min(cut.block_trials, plan_->trials())));
  }

  // Moves what is held to the front of the rows when `more` would not fit behind it.
  void make_room(device::Queue& queue, CpuState& state, std::size_t more) const {
    if (state.first + state.held + more + kOverread <= row_elements_) return;
    queue.parallel_for(state.count, 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t r = first; r < last; ++r)
        std::memmove(state.rows.at(r, 0), state.rows.at(r, state.first),
                     state.kept() * kernels_.row_bytes);
    });
    state.first = 0;
  }

  // One block of trials over `count` times from `time` on.
  struct Task {
    const Block& block;
    std::size_t beam, time, count;
    Rows rows;  ///< from the tile's first time on
  };
  Task task(const CpuState& state, std::size_t k, std::size_t samples) const {
    const std::size_t tile = work_.cut.time_tile;
    const std::size_t tiles = (samples + tile - 1) / tile, blocks = work_.blocks.size();
    const std::size_t time = k / blocks % tiles * tile, beam = k / blocks / tiles;
    return {work_.blocks[k % blocks],
            beam,
            time,
            std::min(tile, samples - time),
            {state.rows.at(beam * plan_->positions(), state.first + time), row_elements_,
             kernels_.row_bytes}};
  }

  template <class T>
  void sum(device::Queue& queue, CpuState& state, const core::View<T, 3>& output,
           std::size_t samples) const {
    const std::size_t tile = work_.cut.time_tile;
    const std::size_t tasks = config().beams * ((samples + tile - 1) / tile) * work_.blocks.size();
    queue.parallel_for(tasks, 1, [&](std::size_t first, std::size_t last, std::size_t worker) {
      for (std::size_t k = first; k < last; ++k)
        run(task(state, k, samples),
            k + 1 < last ? rows_ahead(task(state, k + 1, samples), 0) : RowsAhead(),
            state.scratch[worker], output);
    });
  }

  RowsAhead rows_ahead(const Task& task, std::size_t bundle) const {
    const Block& block = task.block;
    const Bundle& read = work_.bundles[block.first_bundle + bundle];
    const auto& order = plan_->order();
    return {task.rows,
            plan_->delays().row(order[block.first_trial]),
            plan_->delays().row(order[block.first_trial + block.trials - 1]),
            whole_granules(task.count),
            read.first_position,
            read.first_position + read.positions};
  }

  static std::size_t whole_granules(std::size_t times) {
    return (times + kGranule - 1) / kGranule * kGranule;
  }

  // `after`: the rows that the worker reads first when this is done.
  template <class T>
  void run(const Task& task, const RowsAhead& after, const device::Buffer& memory,
           const core::View<T, 3>& output) const {
    const Block& block = task.block;
    const std::size_t times = whole_granules(task.count);
    auto* sums = memory.as<std::byte>();
    std::byte* carries = sums + (work_.carries ? work_.sums_elements() * kernels_.sum_bytes : 0);
    std::byte* scratch = sums + sums_elements() * kernels_.sum_bytes;
    const std::size_t trial_bytes = work_.cut.time_tile * kernels_.sum_bytes;
    const bool shared = work_.cut.levels > 0;
    for (std::size_t k = 0; k < block.bundles; ++k) {
      const Bundle& bundle = work_.bundles[block.first_bundle + k];
      if (bundle.adds > 0)
        kernels_.add(work_.adds.data() + bundle.first_add, bundle.adds,
                     {task.rows.data, row_elements_, scratch, work_.cut.time_tile - times});
      Accumulate work{
          shared ? scratch
                 : task.rows.data + bundle.first_position * row_elements_ * kernels_.row_bytes,
          shared ? 0 : row_elements_,
          work_.places.data() + bundle.first_place,
          bundle.groups,
          sums,
          carries,
          bundle.start,
          bundle.carried,
          bundle.carry,
          nullptr,
          bundle.first_output,
          streams_,
          static_cast<std::int32_t>(plan_->float_sums() ? 0 : plan_->offset()),
          times,
          task.count};
      RowsAhead ahead = k + 1 < block.bundles ? rows_ahead(task, k + 1) : after;
      const std::size_t lines_each = (ahead.lines() + block.trials - 1) / block.trials;
      for (std::size_t i = 0; i < block.trials; ++i) {
        ahead.ask(lines_each);
        if (bundle.finish) work.out = out_of(task, i, output);
        (shared ? kernels_.accumulate_scratch : kernels_.accumulate_rows)(work);
        work.places += bundle.groups;
        work.sums = static_cast<std::byte*>(work.sums) + trial_bytes;
        work.carries = static_cast<std::byte*>(work.carries) + trial_bytes;
      }
    }
    if (streams_) hwy::FlushStream();
    if constexpr (std::is_same_v<T, float>)
      if (types_ == Types::i32_i32)
        for (std::size_t i = 0; i < block.trials; ++i) divide(out_of(task, i, output), task.count);
  }

  // Where the task's times of the block's i-th trial go.
  template <class T>
  T* out_of(const Task& task, std::size_t i, const core::View<T, 3>& output) const {
    return output.row(task.beam, plan_->order()[task.block.first_trial + i]) + task.time;
  }

  // Sums of rows times the channels, written as int32, to floats where they are.
  void divide(float* values, std::size_t count) const {
    const double per_channel = 1 / static_cast<double>(plan_->positions());
    for (std::size_t t = 0; t < count; ++t) {
      std::int32_t sum = 0;
      std::memcpy(&sum, values + t, sizeof sum);
      values[t] = static_cast<float>(static_cast<double>(sum) * per_channel);
    }
  }

  std::shared_ptr<const DelayPlan> plan_;
  Types types_;
  const Kernels& kernels_;
  Cleaner cleaner_;
  std::size_t workers_;
  Choice choice_;
  WorkList work_;
  std::size_t row_elements_ = 0;
  bool streams_ = false;  ///< trials are written past the caches
};

}  // namespace

std::shared_ptr<const Plan> make_cpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          const device::Device& device, const Tunables& tunables,
                                          const CpuCost& cost) {
  return std::make_shared<CpuPlan>(std::move(plan), device, tunables, cost);
}

}  // namespace tautline::stages::dedisperse
