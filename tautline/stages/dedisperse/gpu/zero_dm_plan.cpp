#include "tautline/stages/dedisperse/gpu/zero_dm_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/gpu/state.h"
#include "tautline/stages/dedisperse/gpu/zero_dm_tables.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostPoints = 16384, kFewestPoints = 256;
constexpr std::size_t kDriverLocalBytes = 1024;  // the driver's own
// As zero_dm.kernel has them.
constexpr std::size_t kSumming = 256, kAtOnce = 4, kRowsOfGroup = 64, kCentring = 256;
constexpr std::size_t kDigits = 2;
// So many bytes add up to 19 bits: two digits of 10.
constexpr std::size_t kMostChannels = 2048;
// What a transform of floats leaves of a whole number (docs/maths/dedisperse.md): a standard
// deviation of this times that of the samples and the norm of the channels, and at most this of the
// channels times a sample that all windows have.
constexpr double kRandomError = 2.5e-7, kSteadyError = 7e-8, kFarDeviations = 6;
constexpr double kMostError = 0.4;

std::size_t transform_local_bytes(std::size_t points) {
  return (points + points / 64 * 4) * 8;
}

// Of a transform that a group of this device can do; 0: none.
std::size_t most_points(const device::Device& device) {
  const device::Properties& has = device.properties();
  const std::size_t local =
      has.local_bytes > kDriverLocalBytes ? has.local_bytes - kDriverLocalBytes : 0;
  for (std::size_t points = kMostPoints; points >= kFewestPoints; points /= 4)
    if (transform_local_bytes(points) <= local && points / 16 <= has.max_group_threads)
      return points;
  return 0;
}

class ZeroDmState final : public State {
 public:
  ZeroDmState(std::unique_ptr<State> of_sums, const device::Device& device)
      : inner(std::move(of_sums)), done(device.make_event()) {}
  // Nothing may read memory that is about to go.
  ~ZeroDmState() override {
    try {
      done->synchronise();
    } catch (...) {  // NOLINT(bugprone-empty-catch): whoever waits for the results is told
    }
  }

  GpuState& sums() const { return dynamic_cast<GpuState&>(*inner); }

  // What is held are the rows: sums over channels are made of them anew.
  void reset() override {
    done->synchronise();
    inner->reset();
  }
  std::size_t held_samples() const override { return inner->held_samples(); }
  std::vector<Moments> moments() const override { return inner->moments(); }
  std::vector<std::byte> save() const override { return inner->save(); }
  void load(const std::vector<std::byte>& saved) override {
    done->synchronise();
    inner->load(saved);
  }

  std::unique_ptr<State> inner;
  std::unique_ptr<device::Event> done;  ///< with all of the last call
  device::Buffer channel_sums, centres, entries, starts, added, transformed, twiddles, spectra,
      patterns;
};

class ZeroDmPlan final : public Plan {
 public:
  ZeroDmPlan(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const Plan> sums,
             std::shared_ptr<const device::Device> device, const Tunables& tunables)
      : plan_(std::move(plan)),
        sums_(std::move(sums)),
        device_(std::move(device)),
        choice_(sums_->choice()),
        tables_(make_zero_dm_tables(
            plan_->trials(), plan_->positions(),
            [&](std::size_t trial, std::size_t position) {
              return static_cast<std::uint32_t>(sums_->delay(trial, plan_->channel_at()[position]));
            },
            most_points(*device_), tunables.most_delays_added)) {
    choice_.text += ", zero-DM off the sums";
    program_ = jit::build(*device_, "dedisperse/gpu/zero_dm.kernel",
                          jit::Defines()
                              .set("POINTS", static_cast<std::int64_t>(tables_.points))
                              .set("PARTS", static_cast<std::int64_t>(tables_.parts))
                              .set("LOCAL_BYTES", static_cast<std::int64_t>(local_bytes())));
    add_channels_ = program_->kernel("add_channels");
    correct_by_delays_ = program_->kernel("correct_by_delays");
    centre_sums_ = program_->kernel("centre_sums");
    transform_sums_ = program_->kernel("transform_sums");
    transform_patterns_ = program_->kernel("transform_patterns");
    correct_by_transforms_ = program_->kernel("correct_by_transforms");
  }

  const Config& config() const override { return plan_->config(); }
  std::string backend() const override { return sums_->backend(); }
  const Choice& choice() const override { return choice_; }
  device::MemoryUse bytes() const override {
    device::MemoryUse use = sums_->bytes();
    const std::size_t lists = 4 * (tables_.entries.size() + tables_.starts.size() +
                                   tables_.added.size() + tables_.transformed.size());
    use.host_bytes += lists;
    use.device_bytes += lists + 4 * config().beams * (sums_stride() + 2) + 4 * tables_.points +
                        spectra_bytes() + tables_.pattern_bytes();
    return use;
  }
  std::unique_ptr<State> make_state(device::Queue& queue) const override;
  bool float_output() const override { return true; }
  bool takes_device_memory() const override { return sums_->takes_device_memory(); }
  std::size_t max_delay() const override { return sums_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const override {
    return sums_->delay(trial, channel);
  }
  std::size_t max_output_samples() const override { return sums_->max_output_samples(); }
  Result execute(device::Queue& queue, State& state, const Input& input,
                 const OutputViews& output) const override;

 private:
  struct Block;  // trials to be corrected
  std::size_t half() const { return tables_.points / 2; }
  std::size_t local_bytes() const { return transform_local_bytes(tables_.points); }
  bool transforms() const { return !tables_.transformed.empty(); }
  std::size_t most_windows() const {
    return core::divide_up(plan_->max_new_samples(), half()) + tables_.parts - 1;
  }
  // Sums over channels of a beam, with what kernels read behind the last one.
  std::size_t sums_stride() const {
    return plan_->max_new_samples() + max_delay() + kSumming * kAtOnce;
  }
  std::size_t spectra_bytes() const {
    return transforms() ? kDigits * config().beams * most_windows() * tables_.points * 8 : 0;
  }
  // The most that the squares of half a window's sums may add up to for one digit to be enough.
  std::uint64_t most_squares() const {
    const double each = kMostError / (kFarDeviations * kRandomError * tables_.largest_norm +
                                      kSteadyError * static_cast<double>(plan_->positions()));
    return static_cast<std::uint64_t>(each * each * static_cast<double>(half()));
  }
  std::uint32_t offset() const { return static_cast<std::uint32_t>(plan_->offset()); }
  double per_channel() const { return 1 / static_cast<double>(plan_->positions()); }

  void add_channels(device::Queue& queue, const ZeroDmState& state, const Block& block) const;
  void correct_by_delays(device::Queue& queue, const ZeroDmState& state, const Block& block) const;
  void correct_by_transforms(device::Queue& queue, const ZeroDmState& state,
                             const Block& block) const;

  std::shared_ptr<const DelayPlan> plan_;
  std::shared_ptr<const Plan> sums_;
  std::shared_ptr<const device::Device> device_;
  Choice choice_;
  ZeroDmTables tables_;
  std::shared_ptr<const device::Program> program_;
  std::shared_ptr<const device::Kernel> add_channels_, correct_by_delays_, centre_sums_,
      transform_sums_, transform_patterns_, correct_by_transforms_;
};

struct ZeroDmPlan::Block {
  void* out;
  std::size_t trial_stride, beam_stride, samples;
};

std::unique_ptr<State> ZeroDmPlan::make_state(device::Queue& queue) const {
  auto state = std::make_unique<ZeroDmState>(sums_->make_state(queue), *device_);
  const auto upload = [&](device::Buffer& buffer, const auto& values) {
    const std::size_t bytes = values.size() * sizeof(values[0]);
    buffer = device_->allocate(std::max<std::size_t>(4, bytes));
    if (bytes > 0) queue.copy(buffer.data(), values.data(), bytes);
  };
  state->channel_sums = device_->allocate(4 * config().beams * sums_stride());
  state->centres = device_->allocate(4 * 2 * config().beams);
  upload(state->entries, tables_.entries);
  upload(state->starts, tables_.starts);
  upload(state->added, tables_.added);
  upload(state->transformed, tables_.transformed);
  if (transforms()) {
    std::vector<float> twiddles;
    for (std::size_t n = 0; n < half(); ++n) {
      const double angle =
          2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(tables_.points);
      twiddles.push_back(static_cast<float>(std::cos(angle)));
      twiddles.push_back(static_cast<float>(std::sin(angle)));
    }
    upload(state->twiddles, twiddles);
    state->spectra = device_->allocate(spectra_bytes());
    state->patterns = device_->allocate(tables_.pattern_bytes());
    const device::Argument arguments[] = {
        state->entries.data(),  state->starts.data(),   state->transformed.data(),
        state->twiddles.data(), state->patterns.data(), core::u32(tables_.transformed.size())};
    queue.launch(*transform_patterns_,
                 {.groups = {tables_.pairs(), tables_.parts, 1},
                  .threads = {tables_.points / 16, 1, 1},
                  .local_bytes = local_bytes()},
                 arguments);
  }
  queue.synchronise();
  return state;
}

Result ZeroDmPlan::execute(device::Queue& queue, State& state, const Input& input,
                           const OutputViews& output) const {
  auto& own = dynamic_cast<ZeroDmState&>(state);
  const GpuState& rows = own.sums();
  const std::size_t complete = rows.held + (rows.phase + input.count) / config().downsample;
  const std::size_t expected = complete > max_delay() ? complete - max_delay() : 0;
  require_call(*plan_, input, output, expected);
  // Integers first, where the floats will be, or where the other plan has room for them.
  const core::View<float, 3>& floats = output.floats;
  const bool there = floats.data() == nullptr || device_->holds(floats.data());
  OutputViews integers;
  const std::size_t trials = plan_->trials();
  if (there) {
    integers.integers = {reinterpret_cast<std::int32_t*>(floats.data()),
                         {floats.extent(0), floats.extent(1), floats.extent(2)},
                         {floats.stride(0), floats.stride(1), floats.stride(2)}};
  } else {
    integers.integers = {rows.out.as<std::int32_t>(), {config().beams, trials, expected}};
  }
  const Result result = sums_->execute(queue, *own.inner, input, integers);
  if (result.samples == 0) return result;
  const Block block{integers.integers.data(), static_cast<std::size_t>(integers.integers.stride(1)),
                    static_cast<std::size_t>(integers.integers.stride(0)), result.samples};
  add_channels(queue, own, block);
  if (!tables_.added.empty()) correct_by_delays(queue, own, block);
  if (transforms()) correct_by_transforms(queue, own, block);
  if (!there)
    for (std::size_t b = 0; b < config().beams; ++b)
      queue.copy_rows(floats.row(b, std::size_t{0}), static_cast<std::size_t>(floats.stride(1)) * 4,
                      rows.out.as<std::byte>() + 4 * b * block.beam_stride, 4 * block.trial_stride,
                      4 * block.samples, trials);
  queue.record(*own.done);
  return result;
}

// The sums that this call's trials are made of: the rows that it began with.
void ZeroDmPlan::add_channels(device::Queue& queue, const ZeroDmState& state,
                              const Block& block) const {
  const GpuState& rows = state.sums();
  const std::size_t first = rows.first - block.samples, skip = first % 4;
  const std::size_t times = block.samples + max_delay();
  queue.fill(state.channel_sums.data(), 0, state.channel_sums.bytes());
  const device::Argument arguments[] = {
      rows.rows.data(),
      state.channel_sums.data(),
      static_cast<std::uint64_t>(rows.stride_bytes),
      static_cast<std::uint64_t>(rows.stride_bytes * plan_->positions()),
      static_cast<std::uint64_t>(first - skip),
      core::u32(plan_->positions()),
      core::u32(kRowsOfGroup),
      core::u32(skip),
      core::u32(times),
      static_cast<std::uint64_t>(sums_stride())};
  queue.launch(*add_channels_,
               {.groups = {core::divide_up(skip + times, 4 * kSumming),
                           core::divide_up(plan_->positions(), kRowsOfGroup), config().beams},
                .threads = {kSumming, 1, 1}},
               arguments);
}

void ZeroDmPlan::correct_by_delays(device::Queue& queue, const ZeroDmState& state,
                                   const Block& block) const {
  const device::Argument arguments[] = {state.channel_sums.data(),
                                        state.entries.data(),
                                        state.starts.data(),
                                        state.added.data(),
                                        block.out,
                                        static_cast<std::uint64_t>(sums_stride()),
                                        static_cast<std::uint64_t>(block.trial_stride),
                                        static_cast<std::uint64_t>(block.beam_stride),
                                        core::u32(block.samples),
                                        core::u32(plan_->positions()),
                                        offset(),
                                        per_channel()};
  queue.launch(*correct_by_delays_,
               {.groups = {core::divide_up(block.samples, kSumming * kAtOnce), tables_.added.size(),
                           config().beams},
                .threads = {kSumming, 1, 1}},
               arguments);
}

void ZeroDmPlan::correct_by_transforms(device::Queue& queue, const ZeroDmState& state,
                                       const Block& block) const {
  const std::size_t windows = core::divide_up(block.samples, half());
  const std::size_t times = block.samples + max_delay();
  queue.fill(state.centres.data(), 0, state.centres.bytes());
  const device::Argument centring[] = {state.channel_sums.data(), state.centres.data(),
                                       static_cast<std::uint64_t>(sums_stride()), core::u32(times),
                                       most_squares()};
  queue.launch(
      *centre_sums_,
      {.groups = {core::divide_up(times, half()), config().beams, 1}, .threads = {kCentring, 1, 1}},
      centring);
  const device::LaunchShape shape{.groups = {windows + tables_.parts - 1, config().beams, kDigits},
                                  .threads = {tables_.points / 16, 1, 1},
                                  .local_bytes = local_bytes()};
  const device::Argument transforming[] = {state.channel_sums.data(),
                                           state.centres.data(),
                                           state.twiddles.data(),
                                           state.spectra.data(),
                                           static_cast<std::uint64_t>(sums_stride()),
                                           core::u32(times)};
  queue.launch(*transform_sums_, shape, transforming);
  device::LaunchShape correcting = shape;
  correcting.groups = {windows * tables_.pairs(), config().beams, 1};
  // The second digit's groups go at once where there is none.
  for (std::size_t digit = 0; digit < kDigits; ++digit) {
    const device::Argument arguments[] = {state.centres.data(),
                                          state.spectra.data(),
                                          state.patterns.data(),
                                          state.twiddles.data(),
                                          state.transformed.data(),
                                          block.out,
                                          static_cast<std::uint64_t>(block.trial_stride),
                                          static_cast<std::uint64_t>(block.beam_stride),
                                          core::u32(windows),
                                          core::u32(tables_.transformed.size()),
                                          core::u32(block.samples),
                                          core::u32(plan_->positions()),
                                          offset(),
                                          per_channel(),
                                          core::u32(digit)};
    queue.launch(*correct_by_transforms_, correcting, arguments);
  }
}

}  // namespace

bool corrects_sums(const Config& config, const device::Device& device) {
  if (!device.compiles() || !config.zero_dm || config.bits > 8) return false;
  const std::size_t largest =
      config.max_value == 0 ? (std::size_t{1} << config.bits) - 1 : std::size_t{config.max_value};
  return largest * config.downsample <= 255 && config.frequencies_mhz.size() <= kMostChannels;
}

std::shared_ptr<const Plan> make_zero_dm_plan(std::shared_ptr<const DelayPlan> plan,
                                              std::shared_ptr<const Plan> sums,
                                              std::shared_ptr<const device::Device> device,
                                              const Tunables& tunables) {
  return std::make_shared<ZeroDmPlan>(std::move(plan), std::move(sums), std::move(device),
                                      tunables);
}

}  // namespace tautline::stages::dedisperse
