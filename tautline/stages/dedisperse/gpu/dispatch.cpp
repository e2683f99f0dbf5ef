#include "tautline/stages/dedisperse/gpu/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kReservedLocalBytes = 1024;  // of the driver
constexpr int kRolesCapability = 90;               // roles set their number of registers

// Rows too far apart to stage are read best by fewer threads with more trials each.
constexpr GpuTunables kFromGlobalMemory{64, 4, 2, 8, 0};

// Sizes that channel_blocks.cuda.kernel is tried with: channel blocks of 16 channels in as large a block of trials as
// shared memory has space for the patterns of, else channel blocks of 8. An H200 was measured to be fastest in this
// order (docs/performance/dedisperse.md).
struct ChannelBlockSize {
  std::size_t channels, elements_dm;
};
constexpr ChannelBlockSize kH200ChannelBlocks[] = {{16, 16}, {16, 14}, {16, 12}, {8, 16}};

class Chooser {
 public:
  Chooser(const DelayPlan& plan, const device::Device& device, const GpuTunables& tunables,
          const GpuCost& cost)
      : plan_(plan), device_(device), element_bytes_(gpu_element_bytes(plan)), cost_(cost) {
    made_.tunables = tunables;
    const bool by_default = tunables == GpuTunables{};
    // An entry is one time where rows are no bytes: longer tiles waste less beside them.
    if (by_default && element_bytes_ > 1 && device_.api() == device::Api::cuda)
      made_.tunables.elements_time = 8;
    choose_tiles();
    if (by_default && (!made_.tile || tile_cycles(0) > cycles_where_they_lie())) {
      made_.tunables = kFromGlobalMemory;
      choose_tiles();
    }
    if (by_default) try_channel_blocks();
    made_.choice = describe();
  }
  SumKernel take() { return std::move(made_); }

 private:
  std::size_t span() const { return made_.tunables.items_time * made_.tunables.elements_time; }
  bool shares() const { return made_.tile && made_.tile->levels > 0; }

  void choose_tiles() {
    GpuTunables& t = made_.tunables;
    // Devices whose groups are small get fewer threads along trials, then along time.
    const std::size_t most = std::max<std::size_t>(16, device_.properties().max_group_threads);
    while (t.items_dm > 1 && t.items_time * t.items_dm > most) t.items_dm /= 2;
    while (t.items_time > 16 && t.items_time > most) t.items_time /= 2;
    const bool bytes = element_bytes_ == 1;
    made_.tile_times = span() * (bytes ? 4 : 1);
    const TileShape shape{span(), made_.tile_trials(), t.items_time * t.items_dm,
                          bytes,  local_bytes(t),      channels_in_sum()};
    const Method method = plan_.config().method;
    made_.tile = make_tile_work_list(plan_, shape, 0, cost_);
    if (method == Method::exact) return;
    auto shared = cheapest_sharing(shape, t.levels);
    const bool asked = method == Method::shared || (plan_.has_subbands() && t.levels > 0);
    if (shared && (asked || !made_.tile || shared->cycles < made_.tile->cycles))
      made_.tile = std::move(shared);
  }
  std::optional<TileWorkList> cheapest_sharing(const TileShape& shape, std::size_t levels) const {
    if (levels > 0) return make_tile_work_list(plan_, shape, levels, cost_);
    std::optional<TileWorkList> best;
    for (std::size_t l = 2; l <= kMostTileLevels; ++l) {
      auto list = make_tile_work_list(plan_, shape, l, cost_);
      // More levels need more room, and where they cost more, still more cost still more.
      if (!list || (best && list->cycles > 1.2 * best->cycles)) break;
      if (!best || list->cycles < best->cycles) best = std::move(list);
    }
    return best;
  }

  // Of a call of plan.max_new_samples() on all multiprocessors: `cycles` for a tile of so many times
  // and all trials, of which `dearest` in the block that takes most.
  double of_call(double cycles, double dearest, std::size_t tile_times) const {
    const auto times = static_cast<double>(plan_.max_new_samples() * plan_.config().beams);
    const auto all =
        static_cast<double>(std::max<std::size_t>(1, device_.properties().multiprocessors));
    const double share = cycles * times / static_cast<double>(tile_times) / all;
    // Calls too small for all multiprocessors take longer than their share. Not so counted of
    // floats: each kernel adds in an order of its own, so their sums would depend on the size of a
    // call. Nor on OpenCL, whose compute units may be less than a group takes.
    const bool sees_idle = element_bytes_ == 1 && device_.api() == device::Api::cuda;
    return sees_idle ? std::max(dearest, share) : share;
  }
  double blocks(std::size_t trials) const {
    return static_cast<double>((plan_.trials() + trials - 1) / trials);
  }
  // With so much for each row that a group stages.
  double tile_cycles(double staged_row) const {
    const double rows = staged_row * static_cast<double>(plan_.positions());
    return of_call(made_.tile->cycles + rows * blocks(made_.tile_trials()),
                   made_.tile->dearest + rows, made_.tile_times);
  }
  double cycles_where_they_lie() const {
    constexpr std::size_t kBlock = kFromGlobalMemory.items_dm * kFromGlobalMemory.elements_dm;
    const auto positions = static_cast<double>(plan_.positions());
    const double adds = positions * blocks(kBlock) * static_cast<double>(kBlock);
    return of_call(adds / cost_.adds_per_cycle, positions * cost_.wait_for_position, 1);
  }
  std::size_t local_bytes(const GpuTunables& t) const {
    const std::size_t there = device_.properties().local_bytes;
    return std::min(t.local_kib << 10,
                    there > kReservedLocalBytes ? there - kReservedLocalBytes : 0);
  }
  std::size_t channels_in_sum() const {
    return element_bytes_ == 1 ? 65535 / plan_.max_value() : plan_.positions();
  }
  // By counting, against the tiles that there are already.
  void try_channel_blocks() {
    if (element_bytes_ != 1 || !made_.tile || !(shares() || plan_.has_subbands()) ||
        device_.api() != device::Api::cuda ||
        device_.properties().compute_capability != kRolesCapability)
      return;
    double least = tile_cycles(cost_.staged_row);
    for (const ChannelBlockSize& size : kH200ChannelBlocks) {
      // Larger blocks of trials come first.
      if (made_.channel_blocks && made_.channel_blocks->channels == size.channels) continue;
      const GpuTunables t{64, 4, 8, size.elements_dm};
      const std::size_t trials = t.items_dm * t.elements_dm,
                        times = 2 * t.items_time * t.elements_time;
      auto list = make_channel_block_work_list(
          plan_, plan_.delays(),
          {times / 2, trials, size.channels, local_bytes(t), channels_in_sum()}, cost_);
      if (!list) continue;
      const double cycles =
          of_call(list->cycles + cost_.fill * blocks(trials), list->dearest + cost_.fill, times);
      if (cycles >= least) continue;
      least = cycles;
      made_.tunables = t;
      made_.tile_times = times;
      made_.channel_blocks = std::move(list);
    }
    if (made_.channel_blocks) made_.tile.reset();
  }
  MethodChoice describe() const {
    const auto kib = [](std::size_t bytes) { return (bytes + 1023) / 1024; };
    if (const auto& list = made_.channel_blocks)
      return plan_.choice(
          Method::shared, list->adds,
          fmt::format("channel blocks of {} channels with {:.1f} patterns, {} "
                      "producer warps by the matrix units, {} KiB of shared memory",
                      list->channels, list->patterns, kProducerWarps, kib(4 * list->local_words)));
    if (!made_.tile)
      return plan_.choice(Method::exact, plan_.plain_adds(), "rows read from global memory");
    const TileWorkList& tile = *made_.tile;
    return plan_.choice(
        shares() ? Method::shared : Method::exact, tile.adds,
        fmt::format("{}{} channels in {} KiB of shared memory",
                    shares() ? fmt::format("groups of {}, ", std::size_t{1} << tile.levels) : "",
                    tile.bundle_rows, kib(tile.local_bytes)));
  }

  const DelayPlan& plan_;
  const device::Device& device_;
  std::size_t element_bytes_;
  const GpuCost& cost_;
  SumKernel made_;
};

}  // namespace

std::size_t gpu_element_bytes(const DelayPlan& plan) {
  if (plan.float_sums()) return 4;
  return plan.max_value() <= 255 ? 1 : 2;
}

SumKernel choose_sum_kernel(const DelayPlan& plan, const device::Device& device,
                            const GpuTunables& tunables, const GpuCost& cost) {
  return Chooser(plan, device, tunables, cost).take();
}

}  // namespace tautline::stages::dedisperse
