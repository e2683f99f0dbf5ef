#include "tautline/stages/dedisperse/gpu/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kReservedLocalBytes = 1024;  // the driver's own
constexpr int kMatrixCapability = 80;              // mma.sync of bytes and cp.async
constexpr int kRolesCapability = 90;               // roles take registers as they need them

// What channel_blocks.kernel is tried with where nothing is told: channel blocks of 16 channels in
// as large a block as local memory has room for the patterns of, else of 8, with four producer
// warps each. As an H200 was measured to be fastest (docs/performance/dedisperse.md).
struct ChannelBlockSize {
  std::size_t channels, elements_dm;
};
constexpr ChannelBlockSize kH200ChannelBlocks[] = {{16, 16}, {16, 14}, {16, 12}, {8, 16}};
constexpr std::size_t kH200ProducerWarps = 4, kMostSteps = 4;

class Chooser {
 public:
  Chooser(const DelayPlan& plan, const device::Device& device, std::size_t element_bytes,
          const GpuTunables& tunables, const GpuCost& cost)
      : plan_(plan), device_(device), element_bytes_(element_bytes), cost_(cost) {
    made_.tunables = tunables;
    const bool by_default = tunables == GpuTunables{};
    // An entry is one time where rows are no bytes: longer tiles waste less beside them.
    if (by_default && element_bytes_ > 1 && device_.api() == device::Api::cuda)
      made_.tunables.elements_time = 8;
    choose_tiles();
    // Rows too far apart to stage are read best by fewer threads with more trials each.
    constexpr GpuTunables kWhereTheyLie{64, 4, 2, 8, 0};
    if (by_default && (!made_.tile || tile_cycles(1, 0) > cycles_where_they_lie(kWhereTheyLie))) {
      made_.tunables = kWhereTheyLie;
      choose_tiles();
    }
    if (by_default) {
      try_channel_blocks();
    } else if (tunables.producer_warps > 0 && channel_blocks_serve()) {
      made_.channel_blocks = make_channel_block_work_list(
          plan_, plan_.delays(), channel_block_shape(made_.tunables), cost_);
    }
    if (made_.channel_blocks) {
      choose_roles();
      made_.choice = describe_channel_blocks();
    } else {
      made_.choice = describe_tiles();
    }
  }
  SumKernel take() { return std::move(made_); }

 private:
  // Devices whose groups are small get fewer threads along trials, then along time.
  void fit_threads() {
    GpuTunables& t = made_.tunables;
    const std::size_t most = std::max<std::size_t>(16, device_.properties().max_group_threads);
    while (t.items_dm > 1 && t.items_time * t.items_dm > most) t.items_dm /= 2;
    while (t.items_time > 16 && t.items_time > most) t.items_time /= 2;
  }
  void choose_tiles() {
    fit_threads();
    const GpuTunables& t = made_.tunables;
    const TileShape shape{t.items_time * t.elements_time,
                          made_.tile_trials(),
                          t.items_time * t.items_dm,
                          element_bytes_ == 1,
                          local_bytes(t),
                          channels_in_sum()};
    const Method method = plan_.config().method;
    made_.tile = make_tiles(shape, 0);
    if (method != Method::exact) {
      auto shared = cheapest_sharing(shape, t.levels);
      const bool asked = method == Method::shared || (plan_.has_subbands() && t.levels > 0);
      if (shared && (asked || !made_.tile || shared->cycles < made_.tile->cycles))
        made_.tile = std::move(shared);
    }
  }
  std::optional<TileWorkList> make_tiles(const TileShape& shape, std::size_t levels) const {
    return make_tile_work_list(plan_, plan_.delays(), shape, levels, cost_);
  }
  std::optional<TileWorkList> cheapest_sharing(const TileShape& shape, std::size_t levels) const {
    if (levels > 0) return make_tiles(shape, levels);
    std::optional<TileWorkList> best;
    for (std::size_t l = 2; l <= kMostTileLevels; ++l) {
      auto list = make_tiles(shape, l);
      // More levels need more room, and where they cost more, still more cost still more.
      if (!list || (best && list->cycles > 1.2 * best->cycles)) break;
      if (!best || list->cycles < best->cycles) best = std::move(list);
    }
    return best;
  }
  bool shares() const { return made_.tile && made_.tile->levels > 0; }

  double of_call(double cycles, double dearest, std::size_t tile_times) const {
    return call_cycles(plan_, device_, element_bytes_, cycles, dearest, tile_times);
  }
  double blocks(std::size_t trials) const {
    return static_cast<double>((plan_.trials() + trials - 1) / trials);
  }
  // With the given parts of what is counted, and of each row that a group stages.
  double tile_cycles(double counted, double staged_row) const {
    const double rows = staged_row * static_cast<double>(plan_.positions());
    return of_call(counted * made_.tile->cycles + rows * blocks(made_.tile_trials()),
                   counted * made_.tile->dearest + rows, made_.tile_times(element_bytes_));
  }
  double cycles_of(const ChannelBlockWorkList& list, const GpuTunables& t) const {
    return of_call(list.cycles + cost_.fill * blocks(t.items_dm * t.elements_dm),
                   list.dearest + cost_.fill, 2 * t.items_time * t.elements_time);
  }
  double cycles_where_they_lie(const GpuTunables& t) const {
    const std::size_t block = t.items_dm * t.elements_dm;
    const auto positions = static_cast<double>(plan_.positions());
    const double adds = positions * blocks(block) * static_cast<double>(block);
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
  ChannelBlockShape channel_block_shape(const GpuTunables& t) const {
    return {t.items_time * t.elements_time,
            t.items_dm * t.elements_dm,
            t.block_channels,
            local_bytes(t),
            channels_in_sum(),
            t.elements_time * t.elements_dm % 4 == 0};
  }
  bool channel_blocks_serve() const {
    return element_bytes_ == 1 && (shares() || plan_.has_subbands());
  }
  // By counting, against the tiles that there are already.
  void try_channel_blocks() {
    if (!made_.tile || !channel_blocks_serve() || device_.api() != device::Api::cuda ||
        device_.properties().compute_capability != kRolesCapability)
      return;
    double least = tile_cycles(cost_.tiles, cost_.staged_row);
    std::optional<GpuTunables> best;
    for (const ChannelBlockSize& size : kH200ChannelBlocks) {
      if (best && best->block_channels == size.channels) continue;  // larger blocks come first
      GpuTunables t{64, 4, 8, size.elements_dm};
      t.producer_warps = kH200ProducerWarps;
      t.block_channels = size.channels;
      auto channel_blocks =
          make_channel_block_work_list(plan_, plan_.delays(), channel_block_shape(t), cost_);
      if (!channel_blocks || size.channels * channel_blocks->window > kMostSteps * kWarpThreads)
        continue;
      const double cycles = cycles_of(*channel_blocks, t);
      if (cycles >= least) continue;
      least = cycles;
      best = t;
      made_.channel_blocks = std::move(channel_blocks);
    }
    if (!best) return;
    made_.tunables = *best;
    made_.tile.reset();
  }
  // Four producer warps have more registers each than eight.
  std::size_t most_tiles() const {
    const bool few_steps =
        made_.tunables.block_channels * made_.channel_blocks->window < 4 * kWarpThreads;
    if (made_.tunables.producer_warps <= 4) return few_steps ? 6 : 5;
    return few_steps ? 4 : 3;
  }
  void choose_roles() {
    GpuTunables& t = made_.tunables;
    made_.matrix = t.matrix && t.items_time * t.items_dm % kWarpThreads == 0 &&
                   device_.api() == device::Api::cuda &&
                   device_.properties().compute_capability >= kMatrixCapability;
    // Where roles have registers of their own: fetching takes next to none.
    if (made_.matrix && device_.properties().compute_capability == kRolesCapability &&
        t.items_time * t.items_dm % (4 * kWarpThreads) == 0 && t.producer_warps == 4 &&
        t.groups == 1)
      made_.fetch_warps = 4;
    if (t.tiles == 0) t.tiles = most_tiles();
  }
  Choice describe_channel_blocks() const {
    const GpuTunables& t = made_.tunables;
    return plan_.choice(Method::shared, made_.channel_blocks->adds,
                        fmt::format("channel blocks of {} channels with {:.1f} patterns, {} "
                                    "producer warps{}, {} KiB of local "
                                    "memory",
                                    t.block_channels, made_.channel_blocks->patterns,
                                    t.producer_warps, made_.matrix ? " by the matrix units" : "",
                                    (4 * made_.channel_blocks->local_words + 1023) / 1024));
  }
  Choice describe_tiles() const {
    if (!made_.tile)
      return plan_.choice(Method::exact, plan_.plain_adds(), "rows read from global memory");
    const TileWorkList& tile = *made_.tile;
    const std::string groups =
        shares() ? fmt::format("groups of {}, ", std::size_t{1} << tile.levels) : "";
    return plan_.choice(shares() ? Method::shared : Method::exact, tile.adds,
                        fmt::format("{}{} channels in {} KiB of local memory", groups,
                                    tile.bundle_rows, (tile.local_bytes + 1023) / 1024));
  }

  const DelayPlan& plan_;
  const device::Device& device_;
  std::size_t element_bytes_;
  const GpuCost& cost_;
  SumKernel made_;
};

}  // namespace

std::size_t SumKernel::tile_times(std::size_t element_bytes) const {
  return tunables.items_time * tunables.elements_time *
         (channel_blocks       ? 2
          : element_bytes == 1 ? 4
                               : 1);
}

std::size_t SumKernel::group_threads() const {
  return tunables.items_time * tunables.items_dm +
         (channel_blocks ? kWarpThreads * (tunables.producer_warps + fetch_warps) : 0);
}

std::size_t gpu_element_bytes(const DelayPlan& plan) {
  if (plan.float_sums()) return 4;
  return plan.max_value() <= 255 ? 1 : 2;
}

SumKernel choose_sum_kernel(const DelayPlan& plan, const device::Device& device,
                            std::size_t element_bytes, const GpuTunables& tunables,
                            const GpuCost& cost) {
  return Chooser(plan, device, element_bytes, tunables, cost).take();
}

}  // namespace tautline::stages::dedisperse
