// The plan on a CPU with matrix units: groups of 64 sensors. Matrix products compute the first
// levels, tiles (cpu/layout.h) the others.
#include "tautline/stages/autocorrelate/cpu/amx/plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/stages/autocorrelate/cpu/lane_reader.h"
#include "tautline/stages/autocorrelate/cpu/parts.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

// Calls with fewer samples work in the group's own memory: copying its rows would take longer.
constexpr std::size_t kCopiedSamples = 2048;

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

  void read(const TypedSums<std::int64_t>& out, std::size_t sensor) const {
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
  void read_level(std::size_t which, const TypedSums<std::int64_t>& out, std::size_t sensor) const {
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
      out.put(sensor, lag, eight_bytes(pair_.sums_at, (2 * sensor_ + which) * kAmxLags + i), 0,
              pairs ? whole - tail : 0, pairs ? whole - head : 0);
    }
  }

  const LevelPair& pair_;
  const LevelPairProgress& progress_;
  const std::byte* group_;
  std::size_t sensor_;
  std::uint64_t rows_;
  std::int64_t total_;
};

Parts parts_of(const AmxLayout& layout) {
  std::string sizes = std::to_string(layout.rest.block);
  for (const LevelPair& pair : layout.pairs) sizes += " " + std::to_string(pair.block);
  return {.count = layout.groups(),
          .bytes = layout.group_bytes,
          .scratch_bytes = layout.scratch_bytes,
          .rows_bytes = layout.rows_bytes,
          .layout = std::move(sizes)};
}

class AmxPlan final : public PartsPlan {
 public:
  AmxPlan(AmxLayout layout, std::shared_ptr<const device::Device> device, const AmxKernels& kernels)
      : PartsPlan(std::move(device), parts_of(layout)),
        kernels_(kernels),
        layout_(std::move(layout)) {}

  const Config& config() const override { return layout_.config(); }
  std::string backend() const override { return kernels_.backend; }

 private:
  std::size_t sensors_in(std::size_t group) const {
    return std::min(kGroupSensors, config().sensors - group * kGroupSensors);
  }

  void feed(PartsState& state, const core::SampleView<2>& samples, std::size_t group, std::size_t,
            std::size_t worker) const override {
    AmxInput input;
    input.row_stride = samples.stride(0);
    input.sensor_stride = samples.stride(1);
    input.rows = static_cast<const std::uint8_t*>(samples.data()) +
                 static_cast<std::ptrdiff_t>(group * kGroupSensors) * input.sensor_stride;
    input.count = samples.extent(0);
    input.sensors = sensors_in(group);
    kernels_.feed(layout_, kernels_.tiles, state.part(group), state.scratch(worker),
                  input.count < kCopiedSamples ? nullptr : state.rows(worker), input);
  }
  void flush(std::byte* part, std::size_t group, std::byte* scratch) const override {
    kernels_.flush(layout_, kernels_.tiles, part, scratch, sensors_in(group));
  }
  bool refused(const std::byte* part) const override { return any_refused(layout_, part); }
  void write_part(const std::byte* part, std::size_t group, const Sums& sums) const override {
    const TypedSums<std::int64_t> out(sums);
    for (std::size_t s = 0; s < sensors_in(group); ++s) {
      const std::size_t sensor = group * kGroupSensors + s;
      for (std::size_t p = 0; p < layout_.pairs.size(); ++p) {
        const LevelPairReader reader(layout_, part, p, s);
        reader.read(out, sensor);
        if (p == 0) out.put_totals(sensor, reader.total(), reader.total());
      }
      const Layout& rest = layout_.rest;
      const std::byte* tile = part + layout_.tiles_at + s / kLanes * rest.tile_bytes;
      LaneReader<std::int64_t>(rest, tile, s % kLanes).read_levels(sensor, out);
    }
  }

  const AmxKernels& kernels_;
  AmxLayout layout_;
};

}  // namespace

std::shared_ptr<const Plan> make_amx_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const AmxKernels& kernels, const Tunables& tunables) {
  AmxLayout layout = make_amx_layout(config, tunables);
  layout.scratch_bytes = kernels.scratch_bytes(layout);
  return std::make_shared<AmxPlan>(std::move(layout), std::move(device), kernels);
}

}  // namespace tautline::stages::autocorrelate::cpu
