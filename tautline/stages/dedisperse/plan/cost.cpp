#include "tautline/stages/dedisperse/plan/cost.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "tautline/stages/dedisperse/plan/making.h"
#include "tautline/stages/dedisperse/plan/tree.h"

namespace tautline::stages::dedisperse {

namespace {

// Cycles for 64 bytes of sums, about: what the loops' loads and stores allow on a core that loads
// one line-crossing vector a cycle; plan/making.cpp's were measured beside kAccumulate. GPUs sum the
// sub-bands that these costs choose.
constexpr double kAccumulate = 1.1;        // a load
constexpr double kAccumulateBytes = 0.75;  // half a load, an add, half a shift and an add
constexpr double kAccumulateWider = 1.6;   // a load that widens
constexpr double kBundle = 4;              // a trial's sums loaded and stored again
constexpr double kOutput = 8;              // sums widened and added to the output
constexpr double kCarry = 3;               // loaded, added to and stored
constexpr double kInput = 6;               // a line of input from the third-level cache

constexpr std::size_t kMostLevels = 7;
constexpr std::size_t kMostNearTrials = 1024;

// What the trees of all blocks hold, by level.
struct Census {
  std::vector<double> patterns, spans;  // spans: times beyond a tile, summed over patterns
  std::vector<double> groups;           // nodes
  std::vector<MakingCost> making;       // their sums, from the rows on
};

Census count(const Problem& problem, const Delays& delays, std::size_t block_trials,
             std::size_t levels) {
  Census census;
  census.patterns.assign(levels + 1, 0);
  census.spans = census.groups = census.patterns;
  census.making.resize(levels + 1);
  const std::span<const std::uint32_t> order(problem.order());
  for (std::size_t first = 0; first < order.size(); first += block_trials) {
    const auto block = order.subspan(first, std::min(block_trials, order.size() - first));
    const Tree tree = make_tree(delays, block, levels);
    const Making making(tree);
    for (std::size_t l = 1; l <= levels; ++l) {
      census.groups[l] = static_cast<double>(tree.levels[l].size());
      for (std::size_t g = 0; g < tree.levels[l].size(); ++g) {
        const Node& node = tree.levels[l][g];
        census.making[l] = census.making[l] + making.cost(l, g);
        if (node.single && l > 1) continue;
        census.patterns[l] += static_cast<double>(node.patterns.size());
        for (const Pattern& p : node.patterns) census.spans[l] += p.high - p.low;
      }
    }
  }
  return census;
}

// Times of input that all blocks read for a tile, less the tile, summed over positions.
double spans_of_blocks(const Problem& problem, const Delays& delays, std::size_t block_trials) {
  double spans = 0;
  const auto& order = problem.order();
  for (std::size_t first = 0; first < order.size(); first += block_trials) {
    const std::size_t last = std::min(first + block_trials, order.size()) - 1;
    for (std::size_t p = 0; p < delays.positions; ++p)
      spans += delays(order[last], p) - delays(order[first], p);
  }
  return spans;
}

double blocks_of(const Problem& problem, std::size_t block_trials) {
  return static_cast<double>((problem.trials() + block_trials - 1) / block_trials);
}

std::size_t longest_tile(const Problem& problem) {
  return (problem.max_new_samples() + kGranule - 1) / kGranule * kGranule;
}

std::vector<std::size_t> candidates(std::size_t given, std::initializer_list<std::size_t> values,
                                    std::size_t most) {
  if (given != 0) return {given};
  std::vector<std::size_t> some;
  for (const std::size_t value : values) {
    some.push_back(std::min(value, most));
    if (value >= most) break;
  }
  return some;
}

// What plain and shared sums alike spend on reading input and writing trials.
double traffic(const Problem& problem, const Delays& delays, const Shape& shape, const Room& room,
               double bundles) {
  const double scale = static_cast<double>(room.sum_bytes) / 64;
  const auto trials = static_cast<double>(problem.trials());
  const auto times_full = [&](std::size_t channels) {
    return static_cast<double>(delays.positions) /
           static_cast<double>(std::max<std::size_t>(1, channels));
  };
  const double outputs = std::max(1.0, times_full(room.channels_in_trial));
  const double carries = std::max(0.0, times_full(room.channels_in_sum) - outputs);
  const double windows =
      static_cast<double>(delays.positions) * blocks_of(problem, shape.block_trials) +
      spans_of_blocks(problem, delays, shape.block_trials) / static_cast<double>(shape.time_tile);
  return scale * trials * (kBundle * bundles + kCarry * carries + kOutput * outputs) +
         kInput * windows * static_cast<double>(room.row_bytes) / 64;
}

}  // namespace

std::optional<Estimate> cheapest_shared(const Problem& problem, const Delays& delays,
                                        const Tunables& tunables, const Room& room) {
  std::size_t most_levels = kMostLevels;
  most_levels = std::min<std::size_t>(
      most_levels, static_cast<std::size_t>(std::bit_width(room.channels_in_sum)) - 1);
  most_levels = std::min<std::size_t>(
      most_levels, static_cast<std::size_t>(std::bit_width(2 * delays.positions - 1)) - 1);
  if (tunables.levels > 0) most_levels = std::min(most_levels, tunables.levels);
  if (most_levels == 0) return std::nullopt;
  const std::size_t least_levels = tunables.levels > 0 ? most_levels : 1;

  Estimate best{{}, std::numeric_limits<double>::infinity()};
  const double scale = static_cast<double>(room.sum_bytes) / 64;
  const auto trials = static_cast<double>(problem.trials());
  for (const std::size_t block :
       candidates(tunables.block_trials, {32, 64, 128, 256}, problem.trials())) {
    const Census census = count(problem, delays, block, most_levels);
    const double blocks = blocks_of(problem, block);
    for (const std::size_t tile :
         candidates(tunables.time_tile, {512, 1024, 2048}, longest_tile(problem))) {
      const auto times = static_cast<double>(tile);
      for (std::size_t l = least_levels; l <= most_levels; ++l) {
        // Bytes of an average group's shared sums.
        const double group_bytes = (census.patterns[l] * times + census.spans[l]) / blocks /
                                   census.groups[l] * static_cast<double>(room.sum_bytes);
        const double together = std::clamp(static_cast<double>(room.scratch_bytes) / group_bytes,
                                           1.0, census.groups[l]);
        const Shape shape{tile, block, l};
        double cycles =
            scale * (census.making[l].for_tile(tile) + kAccumulate * trials * census.groups[l]) +
            traffic(problem, delays, shape, room, census.groups[l] / together);
        // Beyond the second-level cache everything waits.
        const double held = static_cast<double>(tile * block * room.sum_bytes) +
                            std::max(group_bytes, static_cast<double>(room.scratch_bytes) / 2);
        if (held > 2 * static_cast<double>(room.scratch_bytes)) cycles *= 1.5;
        if (cycles < best.cycles) best = {shape, cycles};
      }
    }
  }
  return best;
}

Estimate cheapest_plain(const Problem& problem, const Delays& delays, const Tunables& tunables,
                        const Room& room) {
  Estimate best{{}, std::numeric_limits<double>::infinity()};
  const double scale = static_cast<double>(room.sum_bytes) / 64;
  double each = kAccumulate;
  if (room.row_bytes < room.sum_bytes)
    each = room.row_bytes == 1 ? kAccumulateBytes : kAccumulateWider;
  const auto positions = static_cast<double>(delays.positions);
  for (const std::size_t block : candidates(
           tunables.block_trials, {8, 16, 32, 64, 128, 256, kMostNearTrials}, problem.trials())) {
    const double spans = spans_of_blocks(problem, delays, block) / blocks_of(problem, block);
    for (const std::size_t tile : candidates(
             tunables.time_tile, {512, 1024, 2048, 4096, 8192, 16384}, longest_tile(problem))) {
      const double window =
          (static_cast<double>(tile) + spans / positions) * static_cast<double>(room.row_bytes);
      const double together = std::clamp(static_cast<double>(room.near_bytes) / window,
                                         std::min(16.0, positions), positions);
      const Shape shape{tile, block, 0};
      double sums = each * positions * static_cast<double>(problem.trials());
      // Windows that do not stay in the first-level cache come from the second for every trial.
      if (together * window > static_cast<double>(room.near_bytes)) sums *= 1.6;
      if (together * window > static_cast<double>(room.scratch_bytes)) sums *= 2;
      double cycles = scale * sums + traffic(problem, delays, shape, room, positions / together);
      const auto held = static_cast<double>(tile * block * room.sum_bytes);
      if (held > static_cast<double>(room.scratch_bytes)) cycles *= 1.5;
      if (cycles < best.cycles) best = {shape, cycles};
    }
  }
  return best;
}

}  // namespace tautline::stages::dedisperse
