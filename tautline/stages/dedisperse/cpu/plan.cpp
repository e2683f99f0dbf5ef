// The plan on the host's cores: rows in the state, tiles of times and blocks of trials shared out.
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/plan/choose.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/plan/program.h"
#include "tautline/stages/dedisperse/cpu/rows_ahead.h"
#include "tautline/stages/dedisperse/saved_state.h"

namespace tautline::stages::dedisperse {

namespace {

// Rows are read this many elements beyond their last one: a granule, and a vector.
constexpr std::size_t kOverread = kGranule + 64;

class CpuState final : public State {
 public:
  CpuState(const Problem& problem, std::size_t row_elements, std::size_t element_bytes,
           std::size_t worker_bytes, std::size_t workers)
      : work(problem, workers),
        rows_memory(problem.config().beams * problem.positions() * row_elements * element_bytes),
        rows{rows_memory.as<std::byte>(), row_elements, element_bytes},
        count(problem.config().beams * problem.positions()) {
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
  CpuPlan(std::shared_ptr<const Problem> problem, const device::Device& device,
          const Tunables& tunables)
      : problem_(std::move(problem)),
        types_(types_for(*problem_)),
        kernels_(kernels_for(device.instruction_set(), types_)),
        cleaner_(problem_, types_, device.instruction_set()),
        workers_(device.make_queue()->workers()) {
    const Room room = room_for(*problem_, tunables);
    Chosen chosen = choose(*problem_, tunables, room);
    delays_ = std::move(chosen.delays);
    choice_ = std::move(chosen.choice);
    program_ = make_program(*problem_, delays_, chosen.estimate.shape, room);
    describe();
    const std::size_t output_bytes =
        config().beams * problem_->trials() * problem_->max_new_samples() * sizeof(std::int32_t);
    streams_ = output_bytes >= tunables.streamed_bytes && types_ != Types::i32_i32;
    // Room to move the overlap to the front only now and then.
    const std::size_t elements = problem_->max_delay() + problem_->max_delay() / 2 +
                                 2 * problem_->max_new_samples() + 2 + kOverread;
    const std::size_t lines = (elements * kernels_.row_bytes + 63) / 64;
    row_elements_ = (lines | 1) * 64 / kernels_.row_bytes;
  }

  const Config& config() const override { return problem_->config(); }
  std::string backend() const override { return std::string(device::to_string(kernels_.set)); }
  const Choice& choice() const override { return choice_; }
  device::MemoryUse bytes() const override {
    const std::size_t rows = config().beams * problem_->positions() * row_elements_;
    return {rows * kernels_.row_bytes + workers_ * worker_bytes() + program_.bytes() +
                2 * delays_.samples.size() * sizeof(std::int32_t) +
                Cleaner::Work::bytes(*problem_, workers_),
            0};
  }
  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<CpuState>(*problem_, row_elements_, kernels_.row_bytes, worker_bytes(),
                                      workers_);
  }
  bool float_output() const override { return problem_->float_sums(); }
  std::size_t max_delay() const override { return problem_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const override {
    const auto& channels = problem_->channel_at();
    const auto found = std::find(channels.begin(), channels.end(), channel);
    if (found == channels.end()) return problem_->channel_delay(trial, channel);
    return delays_(trial, static_cast<std::size_t>(found - channels.begin()));
  }
  std::size_t max_output_samples() const override { return problem_->max_new_samples(); }

  Result execute(device::Queue& queue, State& state, const Input& input,
                 const OutputViews& output) const override {
    auto& own = dynamic_cast<CpuState&>(state);
    const std::size_t times = own.phase + input.count;
    const std::size_t complete = own.held + times / config().downsample;
    const std::size_t samples = complete > max_delay() ? complete - max_delay() : 0;
    require_call(*problem_, input, output, samples);

    Result result;
    make_room(queue, own, times / config().downsample + 1);
    result.not_finite =
        cleaner_.take(queue, own.work, input, own.rows, own.first + own.held, own.phase);
    if (problem_->float_sums()) {
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
  std::size_t sums_elements() const {
    return program_.sums_elements() * (program_.carries ? 2 : 1);
  }
  std::size_t worker_bytes() const {
    return (sums_elements() + program_.scratch_elements + kOverread) * kernels_.sum_bytes;
  }

  void describe() {
    const double adds = program_.counted_adds;
    choice_.adds = adds;
    const Shape& shape = program_.shape;
    choice_.text = to_string(choice_.method) + ", " +
                   std::to_string(adds / choice_.plain_adds).substr(0, 5) + " of the plain adds, ";
    if (shape.levels > 0)
      choice_.text += "groups of " + std::to_string(std::size_t{1} << shape.levels) + ", ";
    if (choice_.method == Method::subband)
      choice_.text += "loss of S/N " + std::to_string(100 * choice_.loss).substr(0, 4) + " %, ";
    choice_.text += "tiles of " + std::to_string(shape.time_tile) + " times x " +
                    std::to_string(std::min(shape.block_trials, problem_->trials())) + " trials";
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
    const std::size_t tile = program_.shape.time_tile;
    const std::size_t tiles = (samples + tile - 1) / tile, blocks = program_.blocks.size();
    const std::size_t time = k / blocks % tiles * tile, beam = k / blocks / tiles;
    return {program_.blocks[k % blocks],
            beam,
            time,
            std::min(tile, samples - time),
            {state.rows.at(beam * problem_->positions(), state.first + time), row_elements_,
             kernels_.row_bytes}};
  }

  template <class T>
  void sum(device::Queue& queue, CpuState& state, const core::View<T, 3>& output,
           std::size_t samples) const {
    const std::size_t tile = program_.shape.time_tile;
    const std::size_t tasks =
        config().beams * ((samples + tile - 1) / tile) * program_.blocks.size();
    queue.parallel_for(tasks, 1, [&](std::size_t first, std::size_t last, std::size_t worker) {
      for (std::size_t k = first; k < last; ++k)
        run(task(state, k, samples),
            k + 1 < last ? rows_ahead(task(state, k + 1, samples), 0) : RowsAhead(),
            state.scratch[worker], output);
    });
  }

  RowsAhead rows_ahead(const Task& task, std::size_t bundle) const {
    const Block& block = task.block;
    const Bundle& read = program_.bundles[block.first_bundle + bundle];
    const auto& order = problem_->order();
    return {task.rows,
            delays_.row(order[block.first_trial]),
            delays_.row(order[block.first_trial + block.trials - 1]),
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
    std::byte* carries =
        sums + (program_.carries ? program_.sums_elements() * kernels_.sum_bytes : 0);
    std::byte* scratch = sums + sums_elements() * kernels_.sum_bytes;
    const std::size_t trial_bytes = program_.shape.time_tile * kernels_.sum_bytes;
    const bool shared = program_.shape.levels > 0;
    for (std::size_t k = 0; k < block.bundles; ++k) {
      const Bundle& bundle = program_.bundles[block.first_bundle + k];
      if (bundle.adds > 0)
        kernels_.add(program_.adds.data() + bundle.first_add, bundle.adds,
                     {task.rows.data, row_elements_, scratch, program_.shape.time_tile - times});
      Accumulate work{
          shared ? scratch
                 : task.rows.data + bundle.first_position * row_elements_ * kernels_.row_bytes,
          shared ? 0 : row_elements_,
          program_.places.data() + bundle.first_place,
          bundle.groups,
          sums,
          carries,
          bundle.start,
          bundle.carried,
          bundle.carry,
          nullptr,
          bundle.first_output,
          streams_,
          static_cast<std::int32_t>(problem_->float_sums() ? 0 : problem_->offset()),
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
    return output.row(task.beam, problem_->order()[task.block.first_trial + i]) + task.time;
  }

  // Sums of rows times the channels, written as int32, to floats where they are.
  void divide(float* values, std::size_t count) const {
    const double per_channel = 1 / static_cast<double>(problem_->positions());
    for (std::size_t t = 0; t < count; ++t) {
      std::int32_t sum = 0;
      std::memcpy(&sum, values + t, sizeof sum);
      values[t] = static_cast<float>(static_cast<double>(sum) * per_channel);
    }
  }

  std::shared_ptr<const Problem> problem_;
  Types types_;
  const Kernels& kernels_;
  Cleaner cleaner_;
  std::size_t workers_;
  Delays delays_;
  Choice choice_;
  Program program_;
  std::size_t row_elements_ = 0;
  bool streams_ = false;  ///< trials are written past the caches
};

}  // namespace

std::shared_ptr<const Plan> make_cpu_plan(std::shared_ptr<const Problem> problem,
                                          const device::Device& device, const Tunables& tunables) {
  return std::make_shared<CpuPlan>(std::move(problem), device, tunables);
}

}  // namespace tautline::stages::dedisperse
