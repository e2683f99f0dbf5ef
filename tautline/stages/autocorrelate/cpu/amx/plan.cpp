// The plan on a CPU with matrix units: groups of 64 sensors. Matrix products compute the first
// levels, tiles (cpu/layout.h) the others.
#include "tautline/stages/autocorrelate/cpu/amx/plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/checks.h"
#include "tautline/stages/autocorrelate/cpu/lane_reader.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

// Calls with fewer samples work in the group's own memory: copying its rows would take longer.
constexpr std::size_t kCopiedSamples = 2048;

class AmxState final : public State {
 public:
  AmxState(const AmxLayout& layout, std::size_t workers)
      : layout_(layout),
        groups_(layout.groups() * layout.group_bytes),
        scratch_(workers * layout.scratch_bytes),
        copies_(workers * layout.group_bytes),
        rows_(workers * layout.rows_bytes) {}

  static std::size_t bytes(const AmxLayout& layout, std::size_t workers) {
    return layout.groups() * layout.group_bytes +
           workers * (layout.scratch_bytes + layout.group_bytes + layout.rows_bytes);
  }

  std::uint64_t samples() const override { return samples_; }
  void reset() override {
    std::memset(groups_.data(), 0, groups_.bytes());
    samples_ = 0;
    refused_ = false;
  }
  std::vector<std::byte> save() const override {
    std::vector<std::byte> bytes(sizeof samples_ + groups_.bytes());
    std::memcpy(bytes.data(), &samples_, sizeof samples_);
    std::memcpy(bytes.data() + sizeof samples_, groups_.data(), groups_.bytes());
    return bytes;
  }
  void load(std::span<const std::byte> bytes) override {
    const std::size_t expected = sizeof samples_ + groups_.bytes();
    if (bytes.size() != expected)
      throw core::Error(core::ErrorKind::format, "autocorrelate state",
                        std::to_string(bytes.size()) + " bytes", std::to_string(expected),
                        "load it with the plan, the device and the tunables that saved it");
    std::memcpy(&samples_, bytes.data(), sizeof samples_);
    std::memcpy(groups_.data(), bytes.data() + sizeof samples_, groups_.bytes());
    refused_ = false;
  }

  std::byte* group(std::size_t index) {
    return groups_.as<std::byte>() + index * layout_.group_bytes;
  }
  const std::byte* group(std::size_t index) const {
    return groups_.as<std::byte>() + index * layout_.group_bytes;
  }
  std::byte* scratch(std::size_t worker) const {
    return scratch_.as<std::byte>() + worker * layout_.scratch_bytes;
  }
  std::byte* copy(std::size_t worker) const {
    return copies_.as<std::byte>() + worker * layout_.group_bytes;
  }
  std::byte* rows(std::size_t worker) const {
    return rows_.as<std::byte>() + worker * layout_.rows_bytes;
  }
  void add_samples(std::size_t count) { samples_ += count; }
  bool refused() const { return refused_; }
  void refuse() { refused_ = true; }

 private:
  AmxLayout layout_;
  device::Buffer groups_, scratch_, copies_, rows_;
  std::uint64_t samples_ = 0;
  bool refused_ = false;
};

bool any_refused(const AmxLayout& layout, const std::byte* group) {
  const auto* progress = reinterpret_cast<const LevelPairProgress*>(group);
  for (std::size_t p = 0; p < layout.pairs.size(); ++p)
    if (progress[p].refused != 0) return true;
  for (std::size_t tile = 0; tile < kGroupTiles; ++tile)
    if (any_refused(layout.rest, group + layout.tiles_at + tile * layout.rest.tile_bytes))
      return true;
  return false;
}

// Reads the sums of one pair of levels of one sensor from a flushed group.
class LevelPairReader {
 public:
  LevelPairReader(const AmxLayout& layout, const std::byte* group, std::size_t p,
                  std::size_t sensor)
      : pair_(layout.pairs[p]),
        progress_(reinterpret_cast<const LevelPairProgress*>(group)[p]),
        group_(group),
        sensor_(sensor),
        rows_(progress_.done + progress_.pending),
        total_(eight_bytes(pair_.totals_at, sensor)) {}

  std::int64_t total() const { return total_; }

  void read(const Sums<std::int64_t>& out, std::size_t sensor) const {
    read_level(0, out, sensor);
    if (pair_.second) read_level(1, out, sensor);
  }

 private:
  std::int64_t eight_bytes(std::size_t at, std::size_t index) const {
    std::int64_t value;
    std::memcpy(&value, group_ + at + index * sizeof value, sizeof value);
    return value;
  }

  std::int64_t value(std::size_t at, std::size_t plane_bytes, std::size_t row) const {
    const auto* low = reinterpret_cast<const std::uint8_t*>(group_) + at + row * kGroupSensors;
    return low[sensor_] + (pair_.planes == 2 ? low[plane_bytes + sensor_] << 8 : 0);
  }
  // The row `back` before the newest one.
  std::int64_t newest(std::size_t back) const {
    return value(pair_.rows_at, pair_.plane_bytes(), kAmxHistory + progress_.pending - 1 - back);
  }
  std::int64_t oldest(std::size_t row) const {
    return value(pair_.first_at, kAmxHistory * kGroupSensors, row);
  }

  // Level `which` of the pair has one sample for `which` + 1 rows; a last single row is no sample
  // of the odd level.
  void read_level(std::size_t which, const Sums<std::int64_t>& out, std::size_t sensor) const {
    const LagRange& range = pair_.ranges[which];
    const std::size_t skipped = which == 1 && rows_ % 2 == 1 ? 1 : 0;
    const std::int64_t whole = total_ - (skipped == 1 ? newest(0) : 0);
    const std::size_t first =
        which == 0 ? pair_.delay + range.first_steps : pair_.delay + pair_.second_lag;
    std::int64_t head = 0, tail = 0;  // sums of the first, and of the newest, `known` rows
    std::size_t known = 0;
    for (std::size_t i = 0; i < range.steps; ++i) {
      const std::size_t lag_rows = first + (which + 1) * i, lag = range.first_lag + i;
      const bool pairs = rows_ - skipped > lag_rows;
      for (; pairs && known < lag_rows; ++known) {
        head += oldest(known);
        tail += newest(skipped + known);
      }
      if (out.sums.data() != nullptr)
        out.sums(sensor, lag) = eight_bytes(pair_.sums_at, (2 * sensor_ + which) * kAmxLags + i);
      if (out.lead_in.data() != nullptr) out.lead_in(sensor, lag) = 0;
      if (out.monitor_direct.data() != nullptr)
        out.monitor_direct(sensor, lag) = pairs ? whole - tail : 0;
      if (out.monitor_delayed.data() != nullptr)
        out.monitor_delayed(sensor, lag) = pairs ? whole - head : 0;
    }
  }

  const LevelPair& pair_;
  const LevelPairProgress& progress_;
  const std::byte* group_;
  std::size_t sensor_;
  std::uint64_t rows_;
  std::int64_t total_;
};

class AmxPlan final : public Plan {
 public:
  AmxPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const AmxKernels& kernels, const Tunables& tunables)
      : device_(std::move(device)),
        kernels_(kernels),
        layout_(make_amx_layout(config, tunables)),
        workers_(device_->make_queue()->workers()) {
    layout_.scratch_bytes = kernels.scratch_bytes(layout_);
  }

  const Config& config() const override { return layout_.config(); }
  std::string backend() const override { return kernels_.backend; }
  device::MemoryUse bytes() const override { return {AmxState::bytes(layout_, workers_), 0}; }
  std::unique_ptr<State> make_state(const device::Queue& queue) const override {
    if (queue.workers() > workers_)
      throw core::Error(core::ErrorKind::config, "autocorrelate queue",
                        std::to_string(queue.workers()) + " workers",
                        std::to_string(workers_) + " or fewer",
                        "take a queue of the plan's device");
    return std::make_unique<AmxState>(layout_, workers_);
  }

  void execute(device::Queue& queue, State& state,
               const Samples<std::uint8_t>& samples) const override {
    check_samples(config(), CountType::u8, samples.extents());
    auto& own = static_cast<AmxState&>(state);
    if (own.refused()) throw_overflow(own.samples());
    std::atomic<bool> refused{false};
    queue.parallel_for(layout_.groups(), 1,
                       [&](std::size_t first, std::size_t last, std::size_t worker) {
                         for (std::size_t group = first; group < last; ++group) {
                           take_group(own, samples, group, worker);
                           if (any_refused(layout_, own.group(group))) refused = true;
                         }
                       });
    own.add_samples(samples.extent(0));
    if (refused) {
      own.refuse();
      throw_overflow(own.samples());
    }
  }
  void execute(device::Queue&, State&, const Samples<std::uint16_t>& samples) const override {
    check_samples(config(), CountType::u16, samples.extents());
  }
  void execute(device::Queue&, State&, const Samples<std::uint32_t>& samples) const override {
    check_samples(config(), CountType::u32, samples.extents());
  }
  void execute(device::Queue&, State&, const Samples<float>& samples) const override {
    check_samples(config(), CountType::f32, samples.extents());
  }

  void read(device::Queue& queue, const State& state,
            const Sums<std::int64_t>& out) const override {
    check_sums(config(), out);
    const auto& own = static_cast<const AmxState&>(state);
    if (own.refused()) throw_overflow(own.samples());
    if (!out.counts.empty()) {
      std::size_t at = 0;
      for (const Lag& lag : lags_of(config()))
        out.counts[at++] = pairs_at(config(), lag, own.samples());
    }
    std::atomic<bool> refused{false};
    queue.parallel_for(
        layout_.groups(), 1, [&](std::size_t first, std::size_t last, std::size_t worker) {
          for (std::size_t group = first; group < last; ++group) {
            std::byte* copy = own.copy(worker);
            std::memcpy(copy, own.group(group), layout_.group_bytes);
            kernels_.flush(layout_, kernels_.tiles, copy, own.scratch(worker), sensors_in(group));
            if (any_refused(layout_, copy)) refused = true;
            for (std::size_t s = 0; s < sensors_in(group); ++s)
              read_sensor(copy, s, group * kGroupSensors + s, out);
          }
        });
    if (refused) throw_overflow(own.samples());
  }
  void read(device::Queue&, const State&, const Sums<double>& out) const override {
    check_sums(config(), out);
  }

 private:
  std::size_t sensors_in(std::size_t group) const {
    return std::min(kGroupSensors, config().sensors - group * kGroupSensors);
  }

  void take_group(AmxState& state, const Samples<std::uint8_t>& samples, std::size_t group,
                  std::size_t worker) const {
    AmxInput input;
    input.row_stride = samples.stride(0);
    input.sensor_stride = samples.stride(1);
    input.rows =
        samples.data() + static_cast<std::ptrdiff_t>(group * kGroupSensors) * input.sensor_stride;
    input.count = samples.extent(0);
    input.sensors = sensors_in(group);
    kernels_.feed(layout_, kernels_.tiles, state.group(group), state.scratch(worker),
                  input.count < kCopiedSamples ? nullptr : state.rows(worker), input);
  }

  void read_sensor(const std::byte* group, std::size_t s, std::size_t sensor,
                   const Sums<std::int64_t>& out) const {
    for (std::size_t p = 0; p < layout_.pairs.size(); ++p) {
      const LevelPairReader reader(layout_, group, p, s);
      reader.read(out, sensor);
      if (p == 0 && out.totals.data() != nullptr)
        out.totals(sensor, 0) = out.totals(sensor, 1) = reader.total();
    }
    const Layout& rest = layout_.rest;
    const std::byte* tile = group + layout_.tiles_at + s / kLanes * rest.tile_bytes;
    LaneReader<std::int64_t>(rest, tile, s % kLanes).read_levels(sensor, out);
  }

  std::shared_ptr<const device::Device> device_;
  const AmxKernels& kernels_;
  AmxLayout layout_;
  std::size_t workers_;
};

}  // namespace

std::shared_ptr<const Plan> make_amx_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const AmxKernels& kernels, const Tunables& tunables) {
  return std::make_shared<AmxPlan>(config, std::move(device), kernels, tunables);
}

}  // namespace tautline::stages::autocorrelate::cpu
