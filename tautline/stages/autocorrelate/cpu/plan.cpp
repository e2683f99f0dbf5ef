// The CPU plan and its state: tiles of pairs, in parallel over groups of tiles.
#include "tautline/stages/autocorrelate/cpu/plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/checks.h"
#include "tautline/stages/autocorrelate/cpu/amx/layout.h"
#include "tautline/stages/autocorrelate/cpu/amx/plan.h"
#include "tautline/stages/autocorrelate/cpu/kernels.h"
#include "tautline/stages/autocorrelate/cpu/lane_reader.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

// Indices of a group's sensors in the copy of its rows.
constexpr auto kPlaces = [] {
  std::array<std::uint32_t, kSensorsTogether> places{};
  for (std::uint32_t i = 0; i < kSensorsTogether; ++i) places[i] = i;
  return places;
}();

class CpuState final : public State {
 public:
  CpuState(const Layout& layout, std::size_t workers)
      : layout_(layout),
        tiles_(layout.tiles() * layout.tile_bytes),
        scratch_(workers * layout.scratch_bytes),
        copies_(workers * layout.tile_bytes),
        rows_(workers * rows_bytes(layout)) {}

  static std::size_t bytes(const Layout& layout, std::size_t workers) {
    return layout.tiles() * layout.tile_bytes +
           workers * (layout.scratch_bytes + layout.tile_bytes + rows_bytes(layout));
  }

  std::uint64_t samples() const override { return samples_; }
  void reset() override {
    std::memset(tiles_.data(), 0, tiles_.bytes());
    samples_ = 0;
    refused_ = false;
  }
  std::vector<std::byte> save() const override {
    std::vector<std::byte> bytes(sizeof samples_ + tiles_.bytes());
    std::memcpy(bytes.data(), &samples_, sizeof samples_);
    std::memcpy(bytes.data() + sizeof samples_, tiles_.data(), tiles_.bytes());
    return bytes;
  }
  void load(std::span<const std::byte> bytes) override {
    const std::size_t expected = sizeof samples_ + tiles_.bytes();
    if (bytes.size() != expected)
      throw core::Error(core::ErrorKind::format, "autocorrelate state",
                        std::to_string(bytes.size()) + " bytes", std::to_string(expected),
                        "load it with the plan, the device and the tunables that saved it");
    std::memcpy(&samples_, bytes.data(), sizeof samples_);
    std::memcpy(tiles_.data(), bytes.data() + sizeof samples_, tiles_.bytes());
    refused_ = false;
  }

  std::byte* tile(std::size_t index) { return tiles_.as<std::byte>() + index * layout_.tile_bytes; }
  const std::byte* tile(std::size_t index) const {
    return tiles_.as<std::byte>() + index * layout_.tile_bytes;
  }
  std::byte* scratch(std::size_t worker) const {
    return scratch_.as<std::byte>() + worker * layout_.scratch_bytes;
  }
  std::byte* copy(std::size_t worker) const {
    return copies_.as<std::byte>() + worker * layout_.tile_bytes;
  }
  std::byte* rows(std::size_t worker) const {
    return rows_.as<std::byte>() + worker * rows_bytes(layout_);
  }
  void add_samples(std::size_t count) { samples_ += count; }
  bool refused() const { return refused_; }
  void refuse() { refused_ = true; }

 private:
  Layout layout_;
  // The copy of a block of rows of one group of tiles.
  static std::size_t rows_bytes(const Layout& layout) {
    return layout.lanes == 1 ? 0
                             : layout.block * kSensorsTogether * core::bytes_of(layout.config.type);
  }

  device::Buffer tiles_, scratch_, copies_, rows_;
  std::uint64_t samples_ = 0;
  bool refused_ = false;
};

class CpuPlan final : public Plan {
 public:
  CpuPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const Kernels& kernels, const Tunables& tunables)
      : device_(std::move(device)),
        kernels_(kernels),
        layout_(make_layout(config, tunables, kernels.bytes)),
        workers_(device_->make_queue()->workers()) {
    const std::size_t pairs = config.pair_count();
    for (std::size_t i = 0; i < layout_.tiles() * layout_.lanes; ++i) {
      // Lanes without a pair repeat the last pair.
      const std::size_t p = std::min(pair_in(i / layout_.lanes, i % layout_.lanes), pairs - 1);
      const auto own = static_cast<std::uint32_t>(p);
      a_.push_back(config.pairs.empty() ? own : config.pairs[p].a);
      b_.push_back(config.pairs.empty() ? own : config.pairs[p].b);
    }
    for (std::size_t tile = 0; tile < layout_.tiles(); ++tile)
      neighbours_.push_back(side_by_side(a_, tile) && side_by_side(b_, tile));
  }

  const Config& config() const override { return layout_.config; }
  std::string backend() const override { return kernels_.backend; }
  device::MemoryUse bytes() const override { return {CpuState::bytes(layout_, workers_), 0}; }
  std::unique_ptr<State> make_state(const device::Queue& queue) const override {
    if (queue.workers() > workers_)
      throw core::Error(core::ErrorKind::config, "autocorrelate queue",
                        std::to_string(queue.workers()) + " workers",
                        std::to_string(workers_) + " or fewer",
                        "take a queue of the plan's device");
    return std::make_unique<CpuState>(layout_, workers_);
  }

  void execute(device::Queue& queue, State& state,
               const Samples<std::uint8_t>& samples) const override {
    take(queue, state, samples);
  }
  void execute(device::Queue& queue, State& state,
               const Samples<std::uint16_t>& samples) const override {
    take(queue, state, samples);
  }
  void execute(device::Queue& queue, State& state,
               const Samples<std::uint32_t>& samples) const override {
    take(queue, state, samples);
  }
  void execute(device::Queue& queue, State& state, const Samples<float>& samples) const override {
    take(queue, state, samples);
  }
  void read(device::Queue& queue, const State& state,
            const Sums<std::int64_t>& out) const override {
    read_all(queue, state, out);
  }
  void read(device::Queue& queue, const State& state, const Sums<double>& out) const override {
    read_all(queue, state, out);
  }

 private:
  // Whether a tile's lanes are in the order of interleaved_sensor().
  bool interleaved(std::size_t tile) const {
    const Config& config = layout_.config;
    return kernels_.feed_interleaved != nullptr && layout_.lanes == kLanes &&
           config.pairs.empty() && config.type == CountType::u8 &&
           (tile / kTilesTogether + 1) * kSensorsTogether <= config.sensors;
  }
  // May be pair_count() or more: such a lane has no pair.
  std::size_t pair_in(std::size_t tile, std::size_t lane) const {
    if (!interleaved(tile)) return tile * layout_.lanes + lane;
    return tile / kTilesTogether * kSensorsTogether +
           interleaved_sensor(tile % kTilesTogether, lane);
  }

  bool side_by_side(const std::vector<std::uint32_t>& sensors, std::size_t tile) const {
    if (layout_.lanes == 1) return false;
    const std::uint32_t* s = sensors.data() + tile * kLanes;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      if (s[lane] != s[0] + lane) return false;
    return true;
  }

  template <class Count>
  void take(device::Queue& queue, State& state, const Samples<Count>& samples) const {
    check_samples(layout_.config, type_of<Count>(), samples.extents());
    auto& own = static_cast<CpuState&>(state);
    if (own.refused()) throw_overflow(own.samples());
    const std::size_t tiles = layout_.tiles(), count = samples.extent(0);
    const std::size_t groups = (tiles + kTilesTogether - 1) / kTilesTogether;
    queue.parallel_for(groups, 1, [&](std::size_t first, std::size_t last, std::size_t worker) {
      for (std::size_t group = first; group < last; ++group)
        take_group(own, samples, group, worker);
    });
    own.add_samples(count);
    for (std::size_t tile = 0; tile < tiles; ++tile)
      if (any_refused(layout_, own.tile(tile))) {
        own.refuse();
        throw_overflow(own.samples());
      }
  }

  template <class Count>
  void take_group(CpuState& state, const Samples<Count>& samples, std::size_t group,
                  std::size_t worker) const {
    const std::size_t first = group * kTilesTogether;
    const std::size_t last = std::min(first + kTilesTogether, layout_.tiles());
    const std::size_t count = samples.extent(0);
    const bool dense = samples.stride(1) == 1;
    if constexpr (std::is_same_v<Count, std::uint8_t>)
      if (dense && interleaved(first)) {
        const std::uint8_t* rows = samples.data() + first * kLanes;
        kernels_.feed_interleaved(layout_, state.tile(first), state.scratch(worker),
                                  {rows, samples.stride(0), count, rows + kSensorsTogether});
        return;
      }
    const bool copied =
        dense && layout_.lanes == kLanes && layout_.config.pairs.empty() && !interleaved(first);
    for (std::size_t t = 0; t < count; t += layout_.block) {
      const std::size_t rows = std::min(layout_.block, count - t);
      if (copied) copy_rows(samples, t, rows, first * kLanes, state.rows(worker));
      for (std::size_t tile = first; tile < last; ++tile) {
        Input input;
        input.count = rows;
        if (copied) {
          input.rows = state.rows(worker);
          input.row_stride = kSensorsTogether;
          input.a = input.b = kPlaces.data() + (tile - first) * kLanes;
          input.neighbours = true;
        } else {
          input.rows = samples.data() + static_cast<std::ptrdiff_t>(t) * samples.stride(0);
          input.row_stride = samples.stride(0);
          input.sensor_stride = samples.stride(1);
          input.a = a_.data() + tile * layout_.lanes;
          input.b = b_.data() + tile * layout_.lanes;
          input.neighbours = neighbours_[tile] && samples.stride(1) == 1;
        }
        kernels_.feed(layout_, state.tile(tile), state.scratch(worker), input);
      }
    }
  }

  // Gathers the group's part of each row, a cache line of bytes. Without the copy, the group's four
  // tiles would each load these lines, which map to few sets of the first-level cache, from far
  // memory. The hardware prefetcher does not follow such large strides either.
  template <class Count>
  void copy_rows(const Samples<Count>& samples, std::size_t first, std::size_t rows,
                 std::size_t sensor, std::byte* to) const {
    constexpr std::size_t kPrefetchRows = 64;  // rows; not tuned
    const std::size_t width = std::min(kSensorsTogether, layout_.config.sensors - sensor);
    auto* out = reinterpret_cast<Count*>(to);
    for (std::size_t t = 0; t < rows; ++t, out += kSensorsTogether) {
      if (first + t + kPrefetchRows < samples.extent(0))
        __builtin_prefetch(&samples(first + t + kPrefetchRows, sensor));
      std::memcpy(out, &samples(first + t, sensor), width * sizeof(Count));
      if (width < kSensorsTogether)
        std::memset(out + width, 0, (kSensorsTogether - width) * sizeof(Count));
    }
  }

  template <class Value>
  void read_all(device::Queue& queue, const State& state, const Sums<Value>& out) const {
    check_sums(layout_.config, out);
    const auto& own = static_cast<const CpuState&>(state);
    if (own.refused()) throw_overflow(own.samples());
    for (std::size_t l = 0; l < layout_.levels.size() && !out.counts.empty(); ++l) {
      const LagRange& range = layout_.levels[l].range;
      for (std::size_t i = 0; i < range.steps; ++i)
        out.counts[range.first_lag + i] =
            static_cast<std::int64_t>(range.pairs(range.first_steps + i, own.samples()));
    }
    std::vector<std::uint8_t> refused(workers_, 0);
    queue.parallel_for(layout_.tiles(), 1,
                       [&](std::size_t first, std::size_t last, std::size_t worker) {
                         for (std::size_t tile = first; tile < last; ++tile) {
                           std::byte* copy = own.copy(worker);
                           std::memcpy(copy, own.tile(tile), layout_.tile_bytes);
                           kernels_.flush(layout_, copy, own.scratch(worker));
                           if (any_refused(layout_, copy)) refused[worker] = 1;
                           const std::size_t pairs = layout_.config.pair_count();
                           for (std::size_t lane = 0; lane < layout_.lanes; ++lane)
                             if (const std::size_t pair = pair_in(tile, lane); pair < pairs)
                               LaneReader<Value>(layout_, copy, lane).read(pair, out);
                         }
                       });
    if (std::find(refused.begin(), refused.end(), 1) != refused.end())
      throw_overflow(own.samples());
  }

  std::shared_ptr<const device::Device> device_;
  const Kernels& kernels_;
  Layout layout_;
  std::size_t workers_;
  std::vector<std::uint32_t> a_, b_;  ///< [tile][lane]
  std::vector<bool> neighbours_;
};

}  // namespace

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables) {
#if defined(__x86_64__)
  if (device->instruction_set() >= device::InstructionSet::amx && amx_fits(config, tunables))
    return make_amx_plan(config, std::move(device), amx_kernels(), tunables);
#endif
  const Kernels& kernels = choose_kernels(*device);
  return std::make_shared<CpuPlan>(config, std::move(device), kernels, tunables);
}

}  // namespace tautline::stages::autocorrelate::cpu
