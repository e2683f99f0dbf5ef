#include "tautline/stages/dedisperse/gpu/cost.h"

#include <algorithm>

namespace tautline::stages::dedisperse {

// Whether calls too small for all multiprocessors count as longer than their share. Not of floats:
// each kernel adds in an order of its own, so their sums would depend on the size of a call. Not on
// OpenCL, whose compute units may be less than a group takes.
CallCost::CallCost(const DelayPlan& plan, const device::Device& device, std::size_t element_bytes,
                   const GpuCost& cost)
    : cost_(cost),
      trials_(plan.trials()),
      positions_(static_cast<double>(plan.positions())),
      times_(static_cast<double>(plan.max_new_samples() * plan.config().beams)),
      multiprocessors_(
          static_cast<double>(std::max<std::size_t>(1, device.properties().multiprocessors))),
      sees_idle_(element_bytes == 1 && device.api() == device::Api::cuda) {}

double CallCost::blocks(std::size_t trials) const {
  return static_cast<double>((trials_ + trials - 1) / trials);
}

double CallCost::of_call(double cycles, double dearest, std::size_t tile_times) const {
  const double share = cycles * times_ / static_cast<double>(tile_times) / multiprocessors_;
  return sees_idle_ ? std::max(dearest, share) : share;
}

double CallCost::tiles(const CountedGroups& groups) const {
  return of_call(groups.cycles, groups.dearest, groups.times);
}

double CallCost::tiles_beside_channel_blocks(const CountedGroups& groups) const {
  const double rows = cost_.staged_row * positions_;
  return of_call(cost_.tiles * groups.cycles + rows * blocks(groups.trials),
                 cost_.tiles * groups.dearest + rows, groups.times);
}

double CallCost::channel_blocks(const CountedGroups& groups) const {
  return of_call(groups.cycles + cost_.fill_channel_blocks * blocks(groups.trials),
                 groups.dearest + cost_.fill_channel_blocks, groups.times);
}

double CallCost::where_rows_lie(std::size_t block_trials) const {
  const double adds = positions_ * blocks(block_trials) * static_cast<double>(block_trials);
  return of_call(adds / cost_.adds_per_cycle, positions_ * cost_.wait_for_position, 1);
}

}  // namespace tautline::stages::dedisperse
