#include "tautline/stages/dedisperse/gpu/dispatch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/stages/dedisperse/gpu/hopper/channel_block_work_list.h"
#include "tautline/stages/dedisperse/gpu/tile_work_list.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kReservedLocalBytes = 1024;  // of the driver
constexpr int kRolesCapability = 90;               // roles set their number of registers

// sum.kernel reads the delays, [position][trial in order of DM].
GpuWorkList make_row_work_list(const DelayPlan& plan, const GroupShape& shape) {
  GpuWorkList list(shape, "sum.kernel", "dedisperse");
  list.constants["ROW"] = 8 * shape.element_bytes;
  list.lists.emplace_back();
  for (std::size_t p = 0; p < plan.positions(); ++p)
    for (const std::uint32_t trial : plan.order())
      list.lists[0].push_back(static_cast<std::uint32_t>(plan.delays()(trial, p)));
  list.numbers = {plan.positions(), shape.channels_in_sum};
  list.choice = plan.choice(Method::exact, plan.plain_adds(), "rows read from global memory");
  return list;
}

class Chooser {
 public:
  Chooser(const DelayPlan& plan, const device::Device& device, const GpuTunables& tunables,
          const GpuCost& cost)
      : plan_(plan), device_(device), element_bytes_(gpu_element_bytes(plan)), cost_(cost) {
    GpuTunables t = tunables;
    const bool by_default = tunables == GpuTunables{};
    // An entry is one time where rows are no bytes: longer tiles waste less beside them.
    if (by_default && element_bytes_ > 1 && device_.api() == device::Api::cuda) t.elements_time = 8;
    choose_tiles(t);
    if (by_default && (!tile_ || tile_cycles(0) > cycles_from_device_memory()))
      choose_tiles(cost_.sum_tunables);
    if (by_default) try_channel_blocks();
  }
  GpuWorkList take() {
    if (channel_blocks_) return *std::move(channel_blocks_);
    return tile_ ? *std::move(tile_) : make_row_work_list(plan_, shape_);
  }

 private:
  GroupShape shape_of(const GpuTunables& t) const {
    return {t, element_bytes_, shared_bytes(t), channels_in_sum()};
  }

  void choose_tiles(GpuTunables t) {
    // Devices whose groups are small get fewer threads along trials, then along time.
    const std::size_t most = std::max<std::size_t>(16, device_.properties().max_group_threads);
    while (t.items_dm > 1 && t.items_time * t.items_dm > most) t.items_dm /= 2;
    while (t.items_time > 16 && t.items_time > most) t.items_time /= 2;
    shape_ = shape_of(t);
    const Method method = plan_.config().method;
    tile_ = make_tile_work_list(plan_, shape_, 0, cost_);
    if (method == Method::exact) return;
    auto shared = cheapest_sharing(t.levels);
    const bool asked = method == Method::shared || (plan_.has_subbands() && t.levels > 0);
    if (shared && (asked || !tile_ || shared->cycles < tile_->cycles)) tile_ = std::move(shared);
  }
  std::optional<GpuWorkList> cheapest_sharing(std::size_t levels) const {
    if (levels > 0) return make_tile_work_list(plan_, shape_, levels, cost_);
    std::optional<GpuWorkList> best;
    for (std::size_t l = 2; l <= kMostTileLevels; ++l) {
      auto list = make_tile_work_list(plan_, shape_, l, cost_);
      // More levels need more memory, and once a level costs more, the next ones do too.
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
    return static_cast<double>(core::divide_up(plan_.trials(), trials));
  }
  // With `staged_row` more for each row that a group stages.
  double tile_cycles(double staged_row) const {
    const double rows = staged_row * static_cast<double>(plan_.positions());
    return of_call(tile_->cycles + rows * blocks(shape_.trials()), tile_->dearest + rows,
                   tile_->tile_times);
  }
  double cycles_from_device_memory() const {
    const std::size_t block = cost_.sum_tunables.items_dm * cost_.sum_tunables.elements_dm;
    const auto positions = static_cast<double>(plan_.positions());
    const double adds = positions * blocks(block) * static_cast<double>(block);
    return of_call(adds / cost_.adds_per_cycle, positions * cost_.wait_for_position, 1);
  }
  std::size_t shared_bytes(const GpuTunables& t) const {
    const std::size_t there = device_.properties().local_bytes;
    return std::min(t.local_kib << 10,
                    there > kReservedLocalBytes ? there - kReservedLocalBytes : 0);
  }
  std::size_t channels_in_sum() const {
    return element_bytes_ == 1 ? 65535 / plan_.max_value() : plan_.positions();
  }
  // Channel blocks of the sizes whose counted cycles are fewer than those of the tiles.
  void try_channel_blocks() {
    if (element_bytes_ != 1 || !tile_ || !(tile_->shares || plan_.has_subbands()) ||
        device_.api() != device::Api::cuda ||
        device_.properties().compute_capability != kRolesCapability)
      return;
    double least = tile_cycles(cost_.staged_row);
    std::size_t taken = 0;  // channels of the best
    for (const ChannelBlockSize& size : cost_.channel_blocks) {
      if (size.channels == taken) continue;
      const GroupShape shape = shape_of({64, 4, 8, size.elements_dm});
      auto list = make_channel_block_work_list(plan_, plan_.delays(), shape, size.channels, cost_);
      if (!list) continue;
      const double cycles = of_call(list->cycles + cost_.fill * blocks(shape.trials()),
                                    list->dearest + cost_.fill, list->tile_times);
      if (cycles >= least) continue;
      least = cycles;
      taken = size.channels;
      channel_blocks_ = std::move(list);
    }
  }

  const DelayPlan& plan_;
  const device::Device& device_;
  std::size_t element_bytes_;
  const GpuCost& cost_;
  GroupShape shape_;  // of tiles
  std::optional<GpuWorkList> tile_, channel_blocks_;
};

}  // namespace

std::size_t gpu_element_bytes(const DelayPlan& plan) {
  if (plan.float_sums()) return 4;
  return plan.max_value() <= 255 ? 1 : 2;
}

GpuWorkList choose_sum_kernel(const DelayPlan& plan, const device::Device& device,
                              const GpuTunables& tunables, const GpuCost& cost) {
  return Chooser(plan, device, tunables, cost).take();
}

}  // namespace tautline::stages::dedisperse
