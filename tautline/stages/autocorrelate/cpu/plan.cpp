// The CPU plan: tiles of pairs, in parallel over groups of tiles.
#include "tautline/stages/autocorrelate/cpu/plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tautline/stages/autocorrelate/cpu/kernels.h"
#include "tautline/stages/autocorrelate/cpu/lane_reader.h"
#include "tautline/stages/autocorrelate/cpu/parts.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

// Indices of a group's sensors in the copy of its rows.
constexpr auto kPlaces = [] {
  std::array<std::uint32_t, kSensorsTogether> places{};
  for (std::uint32_t i = 0; i < kSensorsTogether; ++i) places[i] = i;
  return places;
}();

Parts parts_of(const Layout& layout) {
  const std::size_t row = kSensorsTogether * core::bytes_of(layout.config.type);
  return {.count = layout.tiles(),
          .bytes = layout.tile_bytes,
          .together = kTilesTogether,
          .scratch_bytes = layout.scratch_bytes,
          // The copy of a block of rows of one group of tiles.
          .rows_bytes = layout.lanes == 1 ? 0 : layout.block * row,
          .layout = std::to_string(layout.lanes) + " " + std::to_string(layout.block)};
}

// Rows at this distance are on different pages: each costs an entry of the processor's page tables,
// which copy_rows prefetches. With 100,000 sensors the kernels took eight times as long without the
// copy.
constexpr std::ptrdiff_t kFarRowBytes = 4096;

class CpuPlan final : public PartsPlan {
 public:
  CpuPlan(Layout layout, std::shared_ptr<const device::Device> device, const Kernels& kernels)
      : PartsPlan(std::move(device), parts_of(layout)),
        kernels_(kernels),
        layout_(std::move(layout)) {
    const std::size_t pairs = layout_.config.pair_count();
    for (std::size_t i = 0; i < layout_.tiles() * layout_.lanes; ++i) {
      // Lanes without a pair repeat the last pair.
      const std::size_t p = std::min(pair_in(i / layout_.lanes, i % layout_.lanes), pairs - 1);
      a_.push_back(layout_.config.pair(p).a);
      b_.push_back(layout_.config.pair(p).b);
    }
    for (std::size_t tile = 0; tile < layout_.tiles(); ++tile)
      neighbours_.push_back(side_by_side(a_, tile) && side_by_side(b_, tile));
  }

  const Config& config() const override { return layout_.config; }
  std::string backend() const override { return kernels_.backend; }

 private:
  // Whether a tile's lanes are in the order of interleaved_sensor().
  bool interleaved(std::size_t tile) const {
    const Config& config = layout_.config;
    return kernels_.feed_interleaved != nullptr && layout_.lanes == kLanes &&
           config.pairs.empty() && config.type == SampleType::u8 &&
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

  void feed(PartsState& state, const core::SampleView<2>& samples, std::size_t first,
            std::size_t last, std::size_t worker) const override {
    const std::size_t count = samples.extent(0);
    const bool dense = samples.stride(1) == 1;
    if (dense && interleaved(first)) {
      const auto* rows = static_cast<const std::uint8_t*>(samples.data()) + first * kLanes;
      if (samples.stride(0) < kFarRowBytes) {
        kernels_.feed_interleaved(layout_, state.part(first), state.scratch(worker),
                                  {rows, samples.stride(0), count, rows + kSensorsTogether});
        return;
      }
      const auto* copy = reinterpret_cast<const std::uint8_t*>(state.rows(worker));
      for (std::size_t t = 0; t < count; t += layout_.block) {
        const std::size_t some = std::min(layout_.block, count - t);
        copy_rows(samples, t, some, first * kLanes, state.rows(worker));
        kernels_.feed_interleaved(layout_, state.part(first), state.scratch(worker),
                                  {copy, kSensorsTogether, some, copy});
      }
      return;
    }
    const bool copied = dense && layout_.lanes == kLanes && layout_.config.pairs.empty();
    for (std::size_t t = 0; t < count; t += layout_.block) {
      Input input;
      input.count = std::min(layout_.block, count - t);
      if (copied) copy_rows(samples, t, input.count, first * kLanes, state.rows(worker));
      for (std::size_t tile = first; tile < last; ++tile) {
        if (copied) {
          input.rows = state.rows(worker);
          input.row_stride = kSensorsTogether;
          input.a = input.b = kPlaces.data() + (tile - first) * kLanes;
          input.neighbours = true;
        } else {
          input.rows = samples.slice(0, t, input.count).data();
          input.row_stride = samples.stride(0);
          input.sensor_stride = samples.stride(1);
          input.a = a_.data() + tile * layout_.lanes;
          input.b = b_.data() + tile * layout_.lanes;
          input.neighbours = neighbours_[tile] && dense;
        }
        kernels_.feed(layout_, state.part(tile), state.scratch(worker), input);
      }
    }
  }

  // Gathers the group's part of each row, a cache line of bytes. Without the copy, the group's four
  // tiles would each load these lines, which map to few sets of the first-level cache, from far
  // memory. The hardware prefetcher does not follow such large strides either.
  void copy_rows(const core::SampleView<2>& samples, std::size_t first, std::size_t rows,
                 std::size_t sensor, std::byte* to) const {
    constexpr std::size_t kPrefetchRows = 64;  // rows; not tuned
    const std::size_t size = core::bytes_of(samples.type()), row = kSensorsTogether * size;
    const std::size_t width = std::min(row, (layout_.config.sensors - sensor) * size);
    const std::ptrdiff_t stride = samples.stride(0) * static_cast<std::ptrdiff_t>(size);
    const auto* from =
        static_cast<const std::byte*>(samples.slice(0, first, rows).data()) + sensor * size;
    for (std::size_t t = 0; t < rows; ++t, to += row, from += stride) {
      if (first + t + kPrefetchRows < samples.extent(0)) {
        const std::byte* later = from + static_cast<std::ptrdiff_t>(kPrefetchRows) * stride;
        for (std::size_t line = 0; line < width; line += 64) __builtin_prefetch(later + line);
        __builtin_prefetch(later + width - 1);  // numpy's arrays begin 16 bytes behind a line
      }
      std::memcpy(to, from, width);
      if (width < row) std::memset(to + width, 0, row - width);
    }
  }

  void flush(std::byte* tile, std::size_t, std::byte* scratch) const override {
    kernels_.flush(layout_, tile, scratch);
  }
  bool refused(const std::byte* tile) const override { return any_refused(layout_, tile); }
  void write_part(const std::byte* tile, std::size_t index, const Sums& out) const override {
    with_sums(layout_.config.sums_type(), out, [&]<class Value>(const TypedSums<Value>& sums) {
      for (std::size_t lane = 0; lane < layout_.lanes; ++lane)
        if (const std::size_t pair = pair_in(index, lane); pair < layout_.config.pair_count())
          LaneReader<Value>(layout_, tile, lane).read(pair, sums);
    });
  }

  const Kernels& kernels_;
  Layout layout_;
  std::vector<std::uint32_t> a_, b_;  ///< [tile][lane]
  std::vector<bool> neighbours_;
};

}  // namespace

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables) {
  const Kernels& kernels = choose_kernels(*device);
  return std::make_shared<CpuPlan>(make_layout(config, tunables, kernels.bytes), std::move(device),
                                   kernels);
}

}  // namespace tautline::stages::autocorrelate::cpu
