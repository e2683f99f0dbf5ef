#include "tautline/stages/dedisperse/gpu/zero_dm_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/core/saved_state.h"
#include "tautline/jit/program.h"
#include "tautline/stages/dedisperse/gpu/state.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostPoints = 16384, kFewestPoints = 256;
// Beyond these a sum over the delays is no slower, or takes less memory.
constexpr std::size_t kMostParts = 16;
constexpr std::size_t kMostPatternBytes = std::size_t{4} << 30;
constexpr std::size_t kDriverLocalBytes = 1024;  // the driver's own
// As zero_dm.kernel has them.
constexpr std::size_t kSumming = 256, kAtOnce = 4, kRowsOfGroup = 64, kCentring = 256;
constexpr std::size_t kDigits = 2;
constexpr const char* kSaved = "dedisperse zero-DM";
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
  std::vector<std::byte> save() const override {
    return core::seal_state(kSaved, {}, inner->save());
  }
  void load(std::span<const std::byte> saved) override {
    done->synchronise();
    inner->load(core::open_state(kSaved, {}, saved));
  }

  std::unique_ptr<State> inner;
  std::unique_ptr<device::Event> done;  ///< with all of the last call
  device::Buffer channel_sums, centres, entries, starts, added, transformed, twiddles, spectra,
      patterns;
};

class ZeroDmPlan final : public PlanOfDelays {
 public:
  ZeroDmPlan(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const Plan> sums,
             std::shared_ptr<const device::Device> device, const Tunables& tunables)
      : PlanOfDelays(std::move(plan)),
        sums_(std::move(sums)),
        device_(std::move(device)),
        tables_(make_zero_dm_tables(
            plan_->trials(), plan_->positions(),
            [&](std::size_t trial, std::size_t position) {
              return static_cast<std::uint32_t>(plan_->delays()(trial, position));
            },
            most_points(*device_), tunables.most_delays_added)) {
    choice_ = sums_->choice();
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

  std::string backend() const override { return sums_->backend(); }
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
  bool takes_device_memory() const override { return sums_->takes_device_memory(); }
  Result execute(device::Queue& queue, State& state, const Input& input,
                 const core::MutableSampleView<3>& trials) const override;

 private:
  using Trials = GpuSum::Out;  // to be corrected
  std::size_t half() const { return tables_.points / 2; }
  std::size_t local_bytes() const { return transform_local_bytes(tables_.points); }
  bool transforms() const { return !tables_.transformed.empty(); }
  std::size_t most_windows() const {
    return core::divide_up(plan_->max_new_samples(), half()) + tables_.parts - 1;
  }
  // Sums over channels of a beam, with what kernels read behind the last one.
  std::uint64_t sums_stride() const {
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
  std::uint32_t channels() const { return core::u32(plan_->positions()); }
  double per_channel() const { return 1 / static_cast<double>(plan_->positions()); }

  void add_channels(device::Queue& queue, const ZeroDmState& state, const Trials& trials) const;
  void correct_by_delays(device::Queue& queue, const ZeroDmState& state,
                         const Trials& trials) const;
  void correct_by_transforms(device::Queue& queue, const ZeroDmState& state,
                             const Trials& trials) const;

  std::shared_ptr<const Plan> sums_;
  std::shared_ptr<const device::Device> device_;
  ZeroDmTables tables_;
  std::shared_ptr<const device::Program> program_;
  std::shared_ptr<const device::Kernel> add_channels_, correct_by_delays_, centre_sums_,
      transform_sums_, transform_patterns_, correct_by_transforms_;
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
    queue.run(*transform_patterns_,
              {.groups = {tables_.pairs(), tables_.parts, 1},
               .threads = {tables_.points / 16, 1, 1},
               .local_bytes = local_bytes()},
              state->entries.data(), state->starts.data(), state->transformed.data(),
              state->twiddles.data(), state->patterns.data(),
              core::u32(tables_.transformed.size()));
  }
  queue.synchronise();
  return state;
}

Result ZeroDmPlan::execute(device::Queue& queue, State& state, const Input& input,
                           const core::MutableSampleView<3>& trials) const {
  auto& own = dynamic_cast<ZeroDmState&>(state);
  const GpuState& rows = own.sums();
  const std::size_t samples = step_of(*plan_, rows, input, trials).samples;
  // Integers first, where the floats will be, or where the other plan has room for them.
  const bool there = trials.data() == nullptr || device_->holds(trials.data());
  constexpr auto kInteger = core::SampleType::i32;
  const core::MutableSampleView<3> integers =
      there
          ? core::MutableSampleView<3>(trials.data(), kInteger, trials.extents(), trials.strides())
          : core::MutableSampleView<3>(rows.out.data(), kInteger,
                                       {config().beams, plan_->trials(), samples});
  const Result result = sums_->execute(queue, *own.inner, input, integers);
  if (result.samples == 0) return result;
  const Trials sums{integers.data(), static_cast<std::size_t>(integers.stride(1)),
                    static_cast<std::size_t>(integers.stride(0)), result.samples};
  add_channels(queue, own, sums);
  if (!tables_.added.empty()) correct_by_delays(queue, own, sums);
  if (transforms()) correct_by_transforms(queue, own, sums);
  for (std::size_t b = 0; b < config().beams && !there; ++b)
    queue.copy_rows(trials.as<float>().row(b, std::size_t{0}),
                    static_cast<std::size_t>(trials.stride(1)) * 4,
                    rows.out.as<std::byte>() + 4 * b * sums.beam_stride, 4 * sums.trial_stride,
                    4 * sums.samples, plan_->trials());
  queue.record(*own.done);
  return result;
}

// The sums that this call's trials are made of: the rows that it began with.
void ZeroDmPlan::add_channels(device::Queue& queue, const ZeroDmState& state,
                              const Trials& trials) const {
  const GpuState& rows = state.sums();
  const std::size_t first = rows.first - trials.samples, skip = first % 4;
  const std::size_t times = trials.samples + max_delay();
  queue.fill(state.channel_sums.data(), 0, state.channel_sums.bytes());
  queue.run(*add_channels_,
            {.groups = {core::divide_up(skip + times, 4 * kSumming),
                        core::divide_up(plan_->positions(), kRowsOfGroup), config().beams},
             .threads = {kSumming, 1, 1}},
            rows.rows.data(), state.channel_sums.data(), std::uint64_t{rows.stride_bytes},
            std::uint64_t{rows.stride_bytes * plan_->positions()}, std::uint64_t{first - skip},
            channels(), core::u32(kRowsOfGroup), core::u32(skip), core::u32(times), sums_stride());
}

void ZeroDmPlan::correct_by_delays(device::Queue& queue, const ZeroDmState& state,
                                   const Trials& trials) const {
  queue.run(*correct_by_delays_,
            {.groups = {core::divide_up(trials.samples, kSumming * kAtOnce), tables_.added.size(),
                        config().beams},
             .threads = {kSumming, 1, 1}},
            state.channel_sums.data(), state.entries.data(), state.starts.data(),
            state.added.data(), trials.data, sums_stride(), std::uint64_t{trials.trial_stride},
            std::uint64_t{trials.beam_stride}, core::u32(trials.samples), channels(), offset(),
            per_channel());
}

void ZeroDmPlan::correct_by_transforms(device::Queue& queue, const ZeroDmState& state,
                                       const Trials& trials) const {
  const std::size_t windows = core::divide_up(trials.samples, half());
  const std::size_t times = trials.samples + max_delay();
  queue.fill(state.centres.data(), 0, state.centres.bytes());
  queue.run(
      *centre_sums_,
      {.groups = {core::divide_up(times, half()), config().beams, 1}, .threads = {kCentring, 1, 1}},
      state.channel_sums.data(), state.centres.data(), sums_stride(), core::u32(times),
      most_squares());
  device::LaunchShape shape{.groups = {windows + tables_.parts - 1, config().beams, kDigits},
                            .threads = {tables_.points / 16, 1, 1},
                            .local_bytes = local_bytes()};
  queue.run(*transform_sums_, shape, state.channel_sums.data(), state.centres.data(),
            state.twiddles.data(), state.spectra.data(), sums_stride(), core::u32(times));
  shape.groups = {windows * tables_.pairs(), config().beams, 1};
  // The second digit's groups go at once where there is none.
  for (std::size_t digit = 0; digit < kDigits; ++digit)
    queue.run(*correct_by_transforms_, shape, state.centres.data(), state.spectra.data(),
              state.patterns.data(), state.twiddles.data(), state.transformed.data(), trials.data,
              std::uint64_t{trials.trial_stride}, std::uint64_t{trials.beam_stride},
              core::u32(windows), core::u32(tables_.transformed.size()), core::u32(trials.samples),
              channels(), offset(), per_channel(), core::u32(digit));
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

ZeroDmTables make_zero_dm_tables(
    std::size_t trials, std::size_t positions,
    const std::function<std::uint32_t(std::size_t, std::size_t)>& delay, std::size_t most_points,
    std::size_t most_added) {
  ZeroDmTables tables;
  std::vector<std::uint32_t> delays(positions);
  std::size_t longest = 0;  // of those that may be transformed
  for (std::size_t trial = 0; trial < trials; ++trial) {
    tables.starts.push_back(static_cast<std::uint32_t>(tables.entries.size() / 2));
    for (std::size_t p = 0; p < positions; ++p) delays[p] = delay(trial, p);
    std::sort(delays.begin(), delays.end());
    for (std::size_t p = 0; p < positions;) {
      const std::size_t first = p;
      while (p < positions && delays[p] == delays[first]) ++p;
      tables.entries.insert(tables.entries.end(),
                            {delays[first], static_cast<std::uint32_t>(p - first)});
    }
    const std::size_t different = tables.entries.size() / 2 - tables.starts.back();
    const bool few = different <= most_added;
    (few ? tables.added : tables.transformed).push_back(static_cast<std::uint32_t>(trial));
    if (few) continue;
    longest = std::max<std::size_t>(longest, delays.back());
    double squares = 0;
    for (std::size_t e = tables.starts.back(); 2 * e < tables.entries.size(); ++e)
      squares += std::pow(static_cast<double>(tables.entries[2 * e + 1]), 2);
    tables.largest_norm = std::max(tables.largest_norm, std::sqrt(squares));
  }
  tables.starts.push_back(static_cast<std::uint32_t>(tables.entries.size() / 2));
  tables.points = kFewestPoints;
  while (4 * tables.points <= most_points && tables.points / 2 <= longest) tables.points *= 4;
  tables.parts = longest / (tables.points / 2) + 1;
  if (most_points < kFewestPoints || tables.parts > kMostParts ||
      tables.pattern_bytes() > kMostPatternBytes) {
    tables.added.insert(tables.added.end(), tables.transformed.begin(), tables.transformed.end());
    tables.transformed.clear();
    tables.parts = 1;
  }
  return tables;
}

}  // namespace tautline::stages::dedisperse
