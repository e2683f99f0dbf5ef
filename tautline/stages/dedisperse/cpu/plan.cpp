// The plan on the host's cores: rows in the state, tiles of times and blocks of trials shared out.
#include <fmt/format.h>
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/cpu/work_list.h"

namespace tautline::stages::dedisperse {

namespace {

// Rows are read this many elements beyond their last one: a granule, and a vector.
constexpr std::size_t kOverread = kGranule + 64;

// Prefetches the lines that a block of trials reads of some positions' rows, a few at a time, while
// the trials' sums of other positions are made: then the lines are in the cache in time, at the
// cost of the prefetch instructions alone.
class RowsAhead {
 public:
  // Prefetches nothing.
  RowsAhead() = default;
  // Prefetches, of positions [first, last), `times` from each delay between `a` and `b` on: the
  // delays of the outermost trials of the block, of which either may be later. rows.data is the
  // tile's first time.
  RowsAhead(const Rows& rows, const std::int32_t* a, const std::int32_t* b, std::size_t times,
            std::size_t first, std::size_t last)
      : rows_(rows), a_(a), b_(b), times_(times), position_(first), last_(last) {
    for (std::size_t p = first; p < last; ++p) lines_ += bytes(p) / kLineBytes + 1;
    open();
  }

  std::size_t lines() const { return lines_; }

  void ask(std::size_t lines) {
    for (; lines > 0 && position_ < last_; --lines) {
      __builtin_prefetch(at_, 0, kSecondLevel);
      at_ += kLineBytes;
      if (at_ < end_) continue;
      ++position_;
      open();
    }
  }

 private:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr int kSecondLevel = 2;  // of cache; the first has no room

  std::size_t bytes(std::size_t p) const {
    const auto span = static_cast<std::size_t>(std::max(a_[p], b_[p]) - std::min(a_[p], b_[p]));
    return (times_ + span) * rows_.element_bytes;
  }
  // One line more than the bytes fill, for a window seldom begins at the start of a line.
  void open() {
    if (position_ == last_) return;
    const auto first = static_cast<std::size_t>(std::min(a_[position_], b_[position_]));
    at_ = rows_.at(position_, first);
    end_ = at_ + bytes(position_) + kLineBytes;
  }

  Rows rows_{};
  const std::int32_t *a_ = nullptr, *b_ = nullptr;
  std::size_t times_ = 0, position_ = 0, last_ = 0, lines_ = 0;
  const std::byte *at_ = nullptr, *end_ = nullptr;
};

class CpuState final : public BaseState {
 public:
  CpuState(const std::shared_ptr<const DelayPlan>& plan, std::size_t row_elements,
           std::size_t element_bytes, std::size_t worker_bytes, std::size_t workers)
      : BaseState(plan, "cpu", plan->config().beams * plan->positions(), element_bytes),
        work(*plan, workers),
        rows_memory(rows_ * row_elements * element_bytes),
        rows{rows_memory.as<std::byte>(), row_elements, element_bytes} {
    for (std::size_t w = 0; w < workers; ++w) scratch.emplace_back(worker_bytes);
  }

  void reset() override {
    first = held = phase = 0;
    work.reset_moments();
  }
  std::vector<Moments> moments() const override { return work.moments(); }

  Cleaner::Work work;
  device::Buffer rows_memory;
  Rows rows;
  std::size_t first = 0;                ///< element of the first time held
  std::vector<device::Buffer> scratch;  ///< of each worker

 private:
  std::vector<std::byte> kept() const override {
    const std::size_t bytes = (held + 1) * element_bytes_;
    std::vector<std::byte> kept(rows_ * bytes);
    for (std::size_t r = 0; r < rows_; ++r)
      std::memcpy(kept.data() + r * bytes, rows.at(r, first), bytes);
    return kept;
  }
  void restore(const std::vector<std::byte>& kept, const std::vector<Moments>& moments) override {
    const std::size_t bytes = (held + 1) * element_bytes_;
    for (std::size_t r = 0; r < rows_; ++r)
      std::memcpy(rows.at(r, 0), kept.data() + r * bytes, bytes);
    work.set_moments(moments);
  }
};

class CpuPlan final : public PlanOfDelays {
 public:
  CpuPlan(std::shared_ptr<const DelayPlan> plan, const device::Device& device,
          const Tunables& tunables, const CpuCost& cost)
      : PlanOfDelays(std::move(plan)),
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
    // Room for several calls, so that the overlap is seldom moved to the front.
    const std::size_t elements =
        plan_->max_delay() + plan_->max_delay() / 2 + 2 * plan_->max_new_samples() + 2 + kOverread;
    const std::size_t lines = (elements * kernels_.row_bytes + 63) / 64;
    row_elements_ = (lines | 1) * 64 / kernels_.row_bytes;
  }

  std::string backend() const override { return std::string(device::to_string(kernels_.set)); }
  device::MemoryUse bytes() const override {
    const std::size_t rows = config().beams * plan_->positions() * row_elements_;
    return {rows * kernels_.row_bytes + workers_ * worker_bytes() + work_.bytes() +
                2 * plan_->exact().samples.size() * sizeof(std::int32_t) +
                Cleaner::Work::bytes(*plan_, workers_),
            0};
  }
  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<CpuState>(plan_, row_elements_, kernels_.row_bytes, worker_bytes(),
                                      workers_);
  }
  Result execute(device::Queue& queue, State& state, const Input& input,
                 const core::MutableSampleView<3>& trials) const override {
    auto& own = dynamic_cast<CpuState&>(state);
    const Step step = step_of(*plan_, own, input, trials);
    Result result;
    make_room(queue, own, step.fresh + 1);
    result.not_finite =
        cleaner_.take(queue, own.work, input, own.rows, own.first + own.held, own.phase);
    if (float_output())
      sum(queue, own, trials.as<float>(), step.samples);
    else
      sum(queue, own, trials.as<std::int32_t>(), step.samples);
    step.take(own);
    own.first += step.samples;
    result.samples = step.samples;
    return result;
  }

 private:
  // Of the trials of a block, and their carries.
  std::size_t sums_elements() const { return work_.sums_elements() * (work_.carries ? 2 : 1); }
  std::size_t worker_bytes() const {
    return (sums_elements() + work_.scratch_elements + kOverread) * kernels_.sum_bytes;
  }

  MethodChoice describe() const {
    const WorkCut& cut = work_.cut;
    const std::string groups =
        cut.levels == 0 ? "" : fmt::format("groups of {}, ", std::size_t{1} << cut.levels);
    return plan_->choice(
        cut.levels == 0 ? Method::exact : Method::shared, work_.counted_adds,
        fmt::format("{}tiles of {} x {}", groups, core::counted(cut.time_tile, "time"),
                    core::counted(std::min(cut.block_trials, plan_->trials()), "trial")));
  }

  // Moves the held times to the front of the rows when `more` would not fit after them.
  void make_room(device::Queue& queue, CpuState& state, std::size_t more) const {
    if (state.first + state.held + more + kOverread <= row_elements_) return;
    const auto move = [&](std::size_t r, std::size_t last, std::size_t) {
      for (; r < last; ++r)
        std::memmove(state.rows.at(r, 0), state.rows.at(r, state.first),
                     (state.held + 1) * kernels_.row_bytes);
    };
    queue.parallel_for(config().beams * plan_->positions(), 1, move);
    state.first = 0;
  }

  // One block of trials over `count` times from `time` on.
  struct Task {
    const TrialBlock& block;
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
    const TrialBlock& block = task.block;
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

  // `after`: the rows that the worker reads first after this task.
  template <class T>
  void run(const Task& task, const RowsAhead& after, const device::Buffer& memory,
           const core::View<T, 3>& output) const {
    const TrialBlock& block = task.block;
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

  // The output of the task's times of the block's i-th trial.
  template <class T>
  T* out_of(const Task& task, std::size_t i, const core::View<T, 3>& output) const {
    return output.row(task.beam, plan_->order()[task.block.first_trial + i]) + task.time;
  }

  // Converts sums of rows times the channels, written as int32, to floats in place.
  void divide(float* values, std::size_t count) const {
    const double per_channel = 1 / static_cast<double>(plan_->positions());
    for (std::size_t t = 0; t < count; ++t) {
      std::int32_t sum = 0;
      std::memcpy(&sum, values + t, sizeof sum);
      values[t] = static_cast<float>(static_cast<double>(sum) * per_channel);
    }
  }

  Types types_;
  const Kernels& kernels_;
  Cleaner cleaner_;
  std::size_t workers_;
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
