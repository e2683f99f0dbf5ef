#include "tautline/stages/dedisperse/cpu/cost.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tautline/core/integers.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostLevels = 7;
constexpr double kLineBytes = 64;

// The contents of the trees of all blocks at one level.
struct Level {
  double patterns = 0, spans = 0;  // spans: times beyond a tile, summed over patterns
  double groups = 0;               // nodes
  PartialSum sums;                 // of all, from the rows on
};

void add(PartialSum& sum, const PartialSum& more) {
  sum.patterns += more.patterns;
  sum.spans += more.spans;
}

// The cost of a node's patterns, each of `cycles`, on top of `parts` [first, first + count).
PartialSum made_of(const SharingNode& node, double cycles, const PartialSum* parts,
                   std::size_t count) {
  PartialSum sum;
  for (const Pattern& p : node.patterns)
    add(sum, {false, cycles, cycles * static_cast<double>(p.high - p.low)});
  for (std::size_t k = 0; k < count; ++k) add(sum, parts[k]);
  return sum;
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

class Counter {
 public:
  Counter(const DelayPlan& plan, const Tunables& tunables, const WorkLimits& limits,
          const CpuCost& cost)
      : plan_(plan),
        delays_(plan.delays()),
        tunables_(tunables),
        limits_(limits),
        cost_(cost),
        trials_(static_cast<double>(plan.trials())),
        positions_(static_cast<double>(plan.positions())),
        lines_of_sum_(static_cast<double>(limits.sum_bytes) / kLineBytes),
        scratch_(static_cast<double>(limits.scratch_bytes)),
        longest_tile_(core::round_up(plan.max_new_samples(), kGranule)) {}

  // The cost of plain sums, and of shared ones where sums hold more than one channel.
  WorkCut cheapest(bool plain, bool shared) {
    if (plain) try_plain();
    if (shared) try_shared();
    if (best_cycles_ == std::numeric_limits<double>::infinity()) try_plain();
    return best_;
  }

 private:
  void try_cut(const WorkCut& cut, double cycles) {
    if (cycles >= best_cycles_) return;
    best_ = cut;
    best_cycles_ = cycles;
  }

  void try_shared() {
    const auto levels_of = [](std::size_t channels) {
      return static_cast<std::size_t>(std::bit_width(channels)) - 1;
    };
    std::size_t most = std::min(
        {kMostLevels, levels_of(limits_.channels_in_sum), levels_of(2 * plan_.positions() - 1)});
    if (tunables_.levels > 0) most = std::min(most, tunables_.levels);
    for (const std::size_t block :
         candidates(tunables_.block_trials, {32, 64, 128, 256}, plan_.trials())) {
      const std::vector<Level> levels = count(block, most);
      for (const std::size_t tile :
           candidates(tunables_.time_tile, {512, 1024, 2048}, longest_tile_))
        for (std::size_t l = tunables_.levels > 0 ? most : 1; l <= most && l > 0; ++l)
          try_cut({tile, block, l}, shared_cycles({tile, block, l}, levels[l]));
    }
  }

  void try_plain() {
    for (const std::size_t block :
         candidates(tunables_.block_trials, {8, 16, 32, 64, 128, 256, 1024}, plan_.trials()))
      for (const std::size_t tile :
           candidates(tunables_.time_tile, {512, 1024, 2048, 4096, 8192, 16384}, longest_tile_))
        try_cut({tile, block, 0}, plain_cycles({tile, block, 0}));
  }

  std::vector<Level> count(std::size_t block_trials, std::size_t most) const {
    std::vector<Level> levels(most + 1);
    for (const auto block : plan_.blocks(block_trials)) {
      const SharingTree tree = make_sharing_tree(delays_, block, most);
      const PartialSumSchedule schedule = make_partial_sum_schedule(tree, cost_);
      for (std::size_t l = 1; l <= most; ++l) {
        Level& level = levels[l];
        level.groups = static_cast<double>(tree.levels[l].size());
        for (const PartialSum& sum : schedule[l]) add(level.sums, sum);
        for (const SharingNode& node : tree.levels[l]) {
          if (node.single && l > 1) continue;
          level.patterns += static_cast<double>(node.patterns.size());
          for (const Pattern& p : node.patterns) level.spans += p.high - p.low;
        }
      }
    }
    return levels;
  }

  double shared_cycles(const WorkCut& cut, const Level& level) const {
    // Bytes of an average group's shared sums.
    const double group_bytes = (level.patterns * static_cast<double>(cut.time_tile) + level.spans) /
                               blocks(cut.block_trials) / level.groups *
                               static_cast<double>(limits_.sum_bytes);
    const double together = std::clamp(scratch_ / group_bytes, 1.0, level.groups);
    const double cycles = lines_of_sum_ * (level.sums.for_tile(cut.time_tile) +
                                           cost_.accumulate * trials_ * level.groups) +
                          traffic(cut, level.groups / together);
    const double held = bytes_of_trials(cut) + std::max(group_bytes, scratch_ / 2);
    return held > 2 * scratch_ ? cost_.trials_beyond_second * cycles : cycles;
  }

  double plain_cycles(const WorkCut& cut) const {
    const auto near = static_cast<double>(limits_.near_bytes);
    const double spans = spans_of_blocks(cut.block_trials) / blocks(cut.block_trials);
    const double window = (static_cast<double>(cut.time_tile) + spans / positions_) *
                          static_cast<double>(limits_.row_bytes);
    const double together = std::clamp(near / window, std::min(16.0, positions_), positions_);
    double sums = cost_.accumulate * positions_ * trials_;
    if (together * window > near) sums *= cost_.windows_beyond_first;
    if (together * window > scratch_) sums *= cost_.windows_beyond_second;
    const double cycles = lines_of_sum_ * sums + traffic(cut, positions_ / together);
    return bytes_of_trials(cut) > scratch_ ? cost_.trials_beyond_second * cycles : cycles;
  }

  double bytes_of_trials(const WorkCut& cut) const {
    return static_cast<double>(cut.time_tile * cut.block_trials * limits_.sum_bytes);
  }
  double blocks(std::size_t block_trials) const {
    return static_cast<double>(core::divide_up(plan_.trials(), block_trials));
  }
  // Times of input that all blocks read for a tile, less the tile, summed over positions.
  double spans_of_blocks(std::size_t block_trials) const {
    double spans = 0;
    for (const auto block : plan_.blocks(block_trials))
      for (std::size_t p = 0; p < delays_.positions; ++p)
        spans += delays_(block.back(), p) - delays_(block.front(), p);
    return spans;
  }

  // The cost that plain and shared sums have in common: reading input, and trials between bundles.
  double traffic(const WorkCut& cut, double bundles) const {
    const double windows = positions_ * blocks(cut.block_trials) +
                           spans_of_blocks(cut.block_trials) / static_cast<double>(cut.time_tile);
    return lines_of_sum_ * trials_ * cost_.bundle * bundles +
           cost_.input * windows * static_cast<double>(limits_.row_bytes) / kLineBytes;
  }

  const DelayPlan& plan_;
  const Delays& delays_;
  const Tunables& tunables_;
  const WorkLimits& limits_;
  const CpuCost& cost_;
  double trials_, positions_, lines_of_sum_, scratch_;
  std::size_t longest_tile_;
  WorkCut best_;
  double best_cycles_ = std::numeric_limits<double>::infinity();
};

}  // namespace

PartialSumSchedule make_partial_sum_schedule(const SharingTree& tree, const CpuCost& cost) {
  PartialSumSchedule schedule(tree.levels.size());
  for (std::size_t l = 1; l < tree.levels.size(); ++l)
    for (std::size_t g = 0; g < tree.levels[l].size(); ++g) {
      const SharingNode& node = tree.levels[l][g];
      if (l == 1) {
        schedule[l].push_back(made_of(node, cost.add_rows, nullptr, 0));
        continue;
      }
      const PartialSum* halves = &schedule[l - 1][2 * g];
      PartialSum best = node.single ? *halves : made_of(node, cost.add_sums, halves, 2);
      best.from_quarters = false;
      if (l > 2 && !node.single && !tree.levels[l - 1][2 * g + 1].single) {
        PartialSum quarters = made_of(node, cost.add_four, &schedule[l - 2][4 * g], 4);
        quarters.from_quarters = true;
        if (quarters.for_tile(kGranule) < best.for_tile(kGranule)) best = quarters;
      }
      schedule[l].push_back(best);
    }
  return schedule;
}

WorkCut choose_cut(const DelayPlan& plan, const Tunables& tunables, const WorkLimits& limits,
                   const CpuCost& cost) {
  const Method method = plan.config().method;
  // Sub-bands exist in order to be shared.
  const bool shared_only = method == Method::shared || plan.has_subbands();
  return Counter(plan, tunables, limits, cost).cheapest(!shared_only, method != Method::exact);
}

}  // namespace tautline::stages::dedisperse
