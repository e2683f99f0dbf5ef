// The plan on a GPU: rows stay in its memory, input from there is turned and cleaned there, and one
// kernel sums (tile.kernel or bands.kernel, from local memory, or sum.kernel). Input in host memory
// goes through the host's cleaner.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/band_program.h"
#include "tautline/stages/dedisperse/clean.h"
#include "tautline/stages/dedisperse/gpu_clean.h"
#include "tautline/stages/dedisperse/gpu_state.h"
#include "tautline/stages/dedisperse/tile_choice.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kTakeTile = 32, kTakeThreads = 256;
constexpr std::size_t kReservedLocalBytes = 1024;  // the driver's own
constexpr std::size_t kTeamThreads = 32;           // of bands.kernel
constexpr int kMatrixCapability = 80;              // mma.sync of bytes and cp.async
// Times of a row behind what tiles end with: windows and whole runs of entries of bands.kernel.
constexpr std::size_t kBehind = 256;

Types gpu_types(const Problem& problem) {
  if (problem.float_sums()) return Types::f32_f32;
  return problem.max_value() <= 255 ? Types::u8_u16 : Types::u16_u32;
}

std::size_t row_bytes_of(Types types) {
  return types == Types::u8_u16 ? 1 : types == Types::u16_u32 ? 2 : 4;
}

class GpuPlan final : public Plan {
 public:
  GpuPlan(std::shared_ptr<const Problem> problem, std::shared_ptr<const device::Device> device,
          const Tunables& tunables)
      : problem_(std::move(problem)),
        device_(std::move(device)),
        types_(gpu_types(*problem_)),
        element_bytes_(row_bytes_of(types_)),
        tunables_(tunables.gpu),
        cleaner_(problem_, types_, device_->instruction_set()),
        gpu_cleaner_(std::make_shared<const GpuCleaner>(problem_, device_, row_bytes_of(types_))) {
    fit_threads();
    choose_sum();
    // Rows too far apart to stage are read best by fewer threads with more trials each.
    if (!tile_ && tunables.gpu == GpuTunables{}) {
      tunables_ = {64, 4, 2, 8, 0};
      fit_threads();
      choose_sum();
    }
    // Not every compiler knows how many threads share the registers.
    while (tunables_.items_dm > 1 && too_many_threads()) {
      tunables_.items_dm /= 2;
      choose_sum();
    }
    for (const int spectra : {0, 1}) {
      take_programs_[spectra] =
          jit::build(*device_, "dedisperse/take.kernel",
                     jit::Defines().set("BITS", config().bits).set("SPECTRA", spectra));
      take_[spectra] = take_programs_[spectra]->kernel("take");
    }
    // The overlap is copied to the front when the rows are full, which must not overlap itself.
    row_elements_ = kMostTimesBefore +
                    2 * (problem_->max_delay() + problem_->max_new_samples() + 1) + tile_times() +
                    kBehind;
    row_elements_ = (row_elements_ * element_bytes_ + 127) / 128 * 128 / element_bytes_;
    position_of_.assign(problem_->channels(), problem_->positions());
    for (std::size_t p = 0; p < problem_->positions(); ++p)
      position_of_[problem_->channel_at()[p]] = p;
  }

  const Config& config() const override { return problem_->config(); }
  std::string backend() const override {
    return device_->api() == device::Api::cuda ? "cuda" : "opencl";
  }
  const Choice& choice() const override { return choice_; }
  device::MemoryUse bytes() const override {
    const std::size_t rows = config().beams * problem_->positions();
    const std::size_t fresh = problem_->max_new_samples() + 1;
    return {rows * fresh * element_bytes_ + 2 * delays_.samples.size() * 4 +
                Cleaner::Work::bytes(*problem_, 1),
            rows * row_elements_ * element_bytes_ +
                (bands_  ? bands_->bytes()
                 : tile_ ? tile_->bytes()
                         : delays_.samples.size() * 4) +
                4 * (problem_->trials() + problem_->channels()) + out_bytes() +
                gpu_cleaner_->bytes()};
  }
  std::unique_ptr<State> make_state(device::Queue& queue) const override;
  bool float_output() const override { return problem_->float_sums(); }
  bool takes_device_memory() const override { return turned_there() || gpu_cleaner_->ready(); }
  std::size_t max_delay() const override { return problem_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const override {
    const std::size_t position = position_of_[channel];
    return position < problem_->positions() ? delays_(trial, position)
                                            : problem_->channel_delay(trial, channel);
  }
  std::size_t max_output_samples() const override { return problem_->max_new_samples(); }
  Result execute(device::Queue& queue, State& state, const Input& input,
                 const OutputViews& output) const override;

 private:
  std::size_t tile_times() const {
    const std::size_t entries = tunables_.items_time * tunables_.elements_time;
    return entries * (bands_ ? 2 : element_bytes_ == 1 ? 4 : 1);
  }
  std::size_t tile_trials() const { return tunables_.items_dm * tunables_.elements_dm; }
  std::size_t blocks() const { return (problem_->trials() + tile_trials() - 1) / tile_trials(); }
  std::size_t channels_in_sum() const {
    return element_bytes_ == 1 ? 65535 / problem_->max_value() : problem_->positions();
  }
  std::size_t out_bytes() const {
    return 4 * config().beams * problem_->trials() * problem_->max_new_samples();
  }
  std::size_t group_threads() const {
    return tunables_.items_time * tunables_.items_dm +
           (bands_ ? kTeamThreads * tunables_.makers : 0);
  }
  // Devices whose groups are small get fewer threads along trials, then along time.
  void fit_threads() {
    const std::size_t most = std::max<std::size_t>(16, device_->properties().max_group_threads);
    while (tunables_.items_dm > 1 && tunables_.items_time * tunables_.items_dm > most)
      tunables_.items_dm /= 2;
    while (tunables_.items_time > 16 && tunables_.items_time > most) tunables_.items_time /= 2;
  }
  TileShape tile_shape() const {
    const std::size_t there = device_->properties().local_bytes;
    return {tunables_.items_time * tunables_.elements_time,
            tile_trials(),
            tunables_.items_time * tunables_.items_dm,
            element_bytes_ == 1,
            std::min(tunables_.local_kib << 10,
                     there > kReservedLocalBytes ? there - kReservedLocalBytes : 0),
            channels_in_sum()};
  }
  bool too_many_threads() const {
    const std::size_t most = sum_->resources().max_group_threads;
    return most > 0 && group_threads() > most;
  }
  void choose_sum() {
    TileChoice chosen = choose_tile(*problem_, tile_shape(), tunables_.levels);
    delays_ = std::move(chosen.delays);
    choice_ = std::move(chosen.choice);
    tile_ = std::move(chosen.program);
    bands_.reset();
    if (tunables_.makers > 0 && element_bytes_ == 1 &&
        (choice_.method == Method::shared || choice_.method == Method::subband))
      bands_ = make_band_program(*problem_, delays_, band_shape());
    if (bands_) {
      describe_bands();
      compile_bands();
    } else {
      compile_sum();
    }
  }
  BandShape band_shape() const {
    const TileShape shape = tile_shape();
    return {shape.span, shape.trials, tunables_.band_channels, shape.local_bytes,
            shape.channels_in_sum};
  }
  bool matrix() const {
    return tunables_.matrix && whole_teams() && device_->api() == device::Api::cuda &&
           device_->properties().compute_capability >= kMatrixCapability;
  }
  // Of those who add.
  bool whole_teams() const { return tunables_.items_time * tunables_.items_dm % kTeamThreads == 0; }
  void describe_bands() {
    choice_.adds = bands_->adds;
    choice_.text = to_string(choice_.method) + ", " +
                   std::to_string(choice_.adds / choice_.plain_adds).substr(0, 5) +
                   " of the plain adds, bands of " + std::to_string(tunables_.band_channels) +
                   " channels with " + std::to_string(bands_->patterns).substr(0, 4) +
                   " patterns, " + std::to_string(tunables_.makers) + " makers" +
                   (matrix() ? " by the matrix units, " : ", ");
    if (choice_.method == Method::subband)
      choice_.text += "loss of S/N " + std::to_string(100 * choice_.loss).substr(0, 4) + " %, ";
    choice_.text +=
        std::to_string((4 * bands_->local_words + 1023) / 1024) + " KiB of local memory";
  }
  void compile_bands() {
    const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
    program_ =
        jit::build(*device_, "dedisperse/bands.kernel",
                   jit::Defines()
                       .set("ITEMS_TIME", number(tunables_.items_time))
                       .set("ITEMS_DM", number(tunables_.items_dm))
                       .set("ELEMENTS_TIME", number(tunables_.elements_time))
                       .set("ELEMENTS_DM", number(tunables_.elements_dm))
                       .set("MAKERS", number(tunables_.makers))
                       .set("CHANNELS", number(tunables_.band_channels))
                       .set("WINDOW", number(bands_->window))
                       .set("TILES", number(std::min(tunables_.tiles, bands_->most_tiles)))
                       .set("MATRIX", matrix() ? 1 : 0)
                       .set("SUMMERS_STAGE", tunables_.summers_stage && whole_teams() ? 1 : 0)
                       .set("ROW_WORDS", number(bands_->row_words))
                       .set("PACKET_WORDS", number(bands_->packet_words))
                       .set("LOCAL_WORDS", number(bands_->local_words))
                       .set("GROUPS", number(tunables_.groups)));
    sum_ = program_->kernel("dedisperse_bands");
  }
  void compile_sum() {
    auto defines = jit::Defines()
                       .set("ROW", static_cast<std::int64_t>(8 * element_bytes_))
                       .set("ITEMS_TIME", static_cast<std::int64_t>(tunables_.items_time))
                       .set("ITEMS_DM", static_cast<std::int64_t>(tunables_.items_dm))
                       .set("ELEMENTS_TIME", static_cast<std::int64_t>(tunables_.elements_time))
                       .set("ELEMENTS_DM", static_cast<std::int64_t>(tunables_.elements_dm));
    if (tile_)
      defines.set("LEVELS", static_cast<std::int64_t>(tile_->levels))
          .set("GROUPS", static_cast<std::int64_t>(tunables_.groups))
          .set("LOCAL_BYTES", static_cast<std::int64_t>(tile_->local_bytes));
    program_ =
        jit::build(*device_, tile_ ? "dedisperse/tile.kernel" : "dedisperse/sum.kernel", defines);
    sum_ = program_->kernel(tile_ ? "dedisperse_tile" : "dedisperse");
  }
  // Whether input in the device's memory needs nothing but turning.
  bool turned_there() const { return !GpuCleaner::needed(*problem_, element_bytes_); }

  void make_room(device::Queue& queue, GpuState& state, std::size_t more) const;
  void take(device::Queue& queue, const GpuState& state, const Input& input) const;
  void take_cleaned(device::Queue& queue, GpuState& state, const Input& input) const;
  std::uint64_t take_from_host(device::Queue& queue, GpuState& state, const Input& input) const;
  template <class T>
  void sum(device::Queue& queue, const GpuState& state, const core::View<T, 3>& output,
           std::size_t samples) const;
  template <class T>
  void sum_tiles(device::Queue& queue, const GpuState& state, const void* out,
                 std::size_t trial_stride, std::size_t beam_stride, std::size_t samples) const;
  void sum_bands(device::Queue& queue, const GpuState& state, const void* out,
                 std::size_t trial_stride, std::size_t beam_stride, std::size_t samples) const;
  template <class T>
  void sum_where_they_lie(device::Queue& queue, const GpuState& state, const void* out,
                          std::size_t trial_stride, std::size_t beam_stride,
                          std::size_t samples) const;
  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<const device::Device> device_;
  Types types_;
  std::size_t element_bytes_;
  GpuTunables tunables_;
  Cleaner cleaner_;
  std::shared_ptr<const GpuCleaner> gpu_cleaner_;
  Delays delays_;
  Choice choice_;
  std::optional<TileProgram> tile_;
  std::optional<BandProgram> bands_;  ///< instead of tile_
  std::size_t row_elements_ = 0;
  std::vector<std::size_t> position_of_;  ///< [channel]; beyond all where it is left out
  std::shared_ptr<const device::Program> program_, take_programs_[2];
  std::shared_ptr<const device::Kernel> sum_, take_[2];
};

std::unique_ptr<State> GpuPlan::make_state(device::Queue& queue) const {
  auto state = std::make_unique<GpuState>(*problem_, *device_, gpu_cleaner_, queue.workers());
  state->count = config().beams * problem_->positions();
  state->element_bytes = element_bytes_;
  state->stride_bytes = row_elements_ * element_bytes_;
  state->staging_bytes = (problem_->max_new_samples() + 1) * element_bytes_;
  state->front = state->first = kMostTimesBefore;
  state->rows = device_->allocate(state->count * state->stride_bytes);
  state->staging = device_->allocate_pinned(state->count * state->staging_bytes);
  state->staged = device_->make_event();
  state->out = device_->allocate(out_bytes());
  std::vector<std::uint32_t> delays;
  std::vector<std::uint32_t> positions(problem_->channels(),
                                       static_cast<std::uint32_t>(problem_->positions()));
  for (std::size_t p = 0; p < problem_->positions(); ++p)
    positions[problem_->channel_at()[p]] = static_cast<std::uint32_t>(p);
  if (!tile_ && !bands_)
    for (std::size_t p = 0; p < problem_->positions(); ++p)
      for (const std::uint32_t trial : problem_->order())
        delays.push_back(static_cast<std::uint32_t>(delays_(trial, p)));
  queue.fill(state->rows.data(), 0, state->rows.bytes());
  const auto upload = [&](device::Buffer& buffer, const std::vector<std::uint32_t>& values) {
    if (values.empty()) return;
    buffer = device_->allocate(4 * values.size());
    queue.copy(buffer.data(), values.data(), 4 * values.size());
  };
  upload(state->delays, delays);
  upload(state->order, problem_->order());
  upload(state->positions, positions);
  if (bands_) {
    upload(state->packets, bands_->packets);
  } else if (tile_) {
    upload(state->staged_rows, tile_->staged);
    upload(state->starts, tile_->starts);
    upload(state->ops, tile_->ops);
    upload(state->places, tile_->places);
  }
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
  require_call(*problem_, given, output, samples);
  Result result;
  if (given.count == 0) return result;
  const Input input = with_strides(*problem_, given);
  make_room(queue, own, fresh);
  if (!device_->holds(input.data)) {
    result.not_finite = take_from_host(queue, own, input);
  } else if (turned_there()) {
    take(queue, own, input);
  } else if (gpu_cleaner_->ready()) {
    take_cleaned(queue, own, input);
  } else {
    throw core::Error(core::ErrorKind::unsupported, "dedisperse input", "in device memory",
                      "host memory where floats are cleaned, measured or downsampled");
  }
  own.phase = times % config().downsample;
  if (problem_->float_sums()) {
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
  if (state.first + state.held + more + tile_times() + kBehind <= row_elements_) return;
  const std::size_t kept = state.held + (state.begun_there && state.phase > 0 ? 1 : 0);
  if (kept > 0)
    queue.copy_rows(state.rows.as<std::byte>() + state.front * element_bytes_, state.stride_bytes,
                    state.rows.as<std::byte>() + state.first * element_bytes_, state.stride_bytes,
                    kept * element_bytes_, state.count);
  state.first = state.front;
}

void GpuPlan::take(device::Queue& queue, const GpuState& state, const Input& input) const {
  const bool spectra = input.layout == Input::Layout::spectra;
  const device::Argument arguments[] = {
      input.data,
      state.positions.data(),
      state.rows.data(),
      static_cast<std::uint64_t>(input.stride_bytes),
      static_cast<std::uint64_t>(input.beam_stride_bytes),
      static_cast<std::uint32_t>(problem_->channels()),
      static_cast<std::uint32_t>(input.count),
      static_cast<std::uint32_t>(problem_->positions()),
      static_cast<std::uint64_t>(state.stride_bytes),
      static_cast<std::uint64_t>(state.stride_bytes * problem_->positions()),
      static_cast<std::uint64_t>(state.first + state.held)};
  queue.launch(*take_[spectra ? 1 : 0],
               {.groups = {(input.count + kTakeTile - 1) / kTakeTile,
                           (problem_->channels() + kTakeTile - 1) / kTakeTile, config().beams},
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
      there ? static_cast<std::size_t>(output.stride(0)) : samples * problem_->trials();
  const void* out = there ? static_cast<const void*>(output.data()) : state.out.data();
  if (bands_) {
    sum_bands(queue, state, out, trial_stride, beam_stride, samples);
  } else if (tile_) {
    sum_tiles<T>(queue, state, out, trial_stride, beam_stride, samples);
  } else {
    sum_where_they_lie<T>(queue, state, out, trial_stride, beam_stride, samples);
  }
  if (there) return;
  for (std::size_t b = 0; b < config().beams; ++b)
    queue.copy_rows(output.row(b, std::size_t{0}), static_cast<std::size_t>(output.stride(1)) * 4,
                    state.out.as<std::byte>() + 4 * b * beam_stride, 4 * samples, 4 * samples,
                    problem_->trials());
}

template <class T>
void GpuPlan::sum_tiles(device::Queue& queue, const GpuState& state, const void* out,
                        std::size_t trial_stride, std::size_t beam_stride,
                        std::size_t samples) const {
  // Words of bytes are read: a tile begins at a whole one, and the times before are not written.
  const std::size_t skip = element_bytes_ == 1 ? state.first % 4 : 0;
  const device::Argument arguments[] = {
      state.rows.data(),
      state.staged_rows.data(),
      state.starts.data(),
      state.ops.data(),
      state.places.data(),
      state.order.data(),
      out,
      static_cast<std::uint64_t>(state.stride_bytes),
      static_cast<std::uint64_t>(state.stride_bytes * problem_->positions()),
      static_cast<std::uint64_t>(state.first - skip),
      static_cast<std::uint32_t>(problem_->positions()),
      static_cast<std::uint32_t>(tile_->bundle_rows),
      static_cast<std::uint32_t>(tile_->bundles_in_sum),
      static_cast<std::uint32_t>(problem_->trials()),
      static_cast<std::uint32_t>(skip),
      static_cast<std::uint32_t>(skip + samples),
      static_cast<std::uint64_t>(trial_stride),
      static_cast<std::uint64_t>(beam_stride),
      static_cast<T>(problem_->float_sums() ? 0 : problem_->offset())};
  queue.launch(
      *sum_,
      {.groups = {blocks() * ((skip + samples + tile_times() - 1) / tile_times()), 1,
                  config().beams},
       .threads = {tunables_.items_time, tunables_.items_dm, 1},
       .local_bytes = tile_->local_bytes},
      arguments);
}

void GpuPlan::sum_bands(device::Queue& queue, const GpuState& state, const void* out,
                        std::size_t trial_stride, std::size_t beam_stride,
                        std::size_t samples) const {
  const std::size_t skip = state.first % 4;  // words are read, as of tiles
  const device::Argument arguments[] = {
      state.rows.data(),
      state.packets.data(),
      state.order.data(),
      out,
      static_cast<std::uint64_t>(state.stride_bytes),
      static_cast<std::uint64_t>(state.stride_bytes * problem_->positions()),
      static_cast<std::uint64_t>(state.first - skip),
      static_cast<std::uint32_t>(bands_->bands),
      static_cast<std::uint32_t>(bands_->bands_in_sum),
      static_cast<std::uint32_t>(problem_->trials()),
      static_cast<std::uint32_t>(skip),
      static_cast<std::uint32_t>(skip + samples),
      static_cast<std::uint64_t>(trial_stride),
      static_cast<std::uint64_t>(beam_stride),
      static_cast<std::int32_t>(problem_->offset())};
  queue.launch(
      *sum_,
      {.groups = {blocks() * ((skip + samples + tile_times() - 1) / tile_times()), 1,
                  config().beams},
       .threads = {group_threads(), 1, 1},
       .local_bytes = 4 * bands_->local_words},
      arguments);
}

template <class T>
void GpuPlan::sum_where_they_lie(device::Queue& queue, const GpuState& state, const void* out,
                                 std::size_t trial_stride, std::size_t beam_stride,
                                 std::size_t samples) const {
  const device::Argument arguments[] = {
      state.rows.data(),
      state.delays.data(),
      state.order.data(),
      out,
      static_cast<std::uint64_t>(state.stride_bytes),
      static_cast<std::uint64_t>(state.stride_bytes * problem_->positions()),
      static_cast<std::uint64_t>(state.first),
      static_cast<std::uint32_t>(problem_->positions()),
      static_cast<std::uint32_t>(channels_in_sum()),
      static_cast<std::uint32_t>(problem_->trials()),
      static_cast<std::uint32_t>(samples),
      static_cast<std::uint64_t>(trial_stride),
      static_cast<std::uint64_t>(beam_stride),
      static_cast<T>(problem_->float_sums() ? 0 : problem_->offset())};
  queue.launch(
      *sum_,
      {.groups = {(samples + tile_times() - 1) / tile_times(),
                  (problem_->trials() + tile_trials() - 1) / tile_trials(), config().beams},
       .threads = {tunables_.items_time, tunables_.items_dm, 1}},
      arguments);
}

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const Problem> problem,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables) {
  return std::make_shared<GpuPlan>(std::move(problem), std::move(device), tunables);
}

}  // namespace tautline::stages::dedisperse
