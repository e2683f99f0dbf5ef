#include "tautline/stages/dedisperse/cpu/cost.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "tautline/stages/dedisperse/cpu/partial_sums.h"
#include "tautline/stages/dedisperse/plan/sharing.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostLevels = 7;
constexpr std::size_t kMostNearTrials = 1024;
constexpr double kLineBytes = 64;

// What the trees of all blocks hold, by level.
struct Census {
  std::vector<double> patterns, spans;  // spans: times beyond a tile, summed over patterns
  std::vector<double> groups;           // nodes
  std::vector<PartialSum> sums;         // all that make theirs, from the rows on
};

struct CountedCut {
  WorkCut cut;
  double cycles = std::numeric_limits<double>::infinity();  // of a core, for one time of all trials
};

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
        longest_tile_((plan.max_new_samples() + kGranule - 1) / kGranule * kGranule) {}

  /// None when sums hold one channel.
  std::optional<CountedCut> shared() const {
    const auto levels_of = [](std::size_t channels) {
      return static_cast<std::size_t>(std::bit_width(channels)) - 1;
    };
    std::size_t most_levels = std::min(
        {kMostLevels, levels_of(limits_.channels_in_sum), levels_of(2 * plan_.positions() - 1)});
    if (tunables_.levels > 0) most_levels = std::min(most_levels, tunables_.levels);
    if (most_levels == 0) return std::nullopt;
    CountedCut best;
    for (const std::size_t block :
         candidates(tunables_.block_trials, {32, 64, 128, 256}, plan_.trials())) {
      const Census census = count(block, most_levels);
      for (const std::size_t tile :
           candidates(tunables_.time_tile, {512, 1024, 2048}, longest_tile_))
        for (std::size_t l = tunables_.levels > 0 ? most_levels : 1; l <= most_levels; ++l)
          take_cheaper(best, {tile, block, l}, shared_cycles({tile, block, l}, census));
    }
    return best;
  }

  CountedCut plain() const {
    CountedCut best;
    for (const std::size_t block : candidates(
             tunables_.block_trials, {8, 16, 32, 64, 128, 256, kMostNearTrials}, plan_.trials()))
      for (const std::size_t tile :
           candidates(tunables_.time_tile, {512, 1024, 2048, 4096, 8192, 16384}, longest_tile_))
        take_cheaper(best, {tile, block, 0}, plain_cycles({tile, block, 0}));
    return best;
  }

 private:
  static void take_cheaper(CountedCut& best, const WorkCut& cut, double cycles) {
    if (cycles < best.cycles) best = {cut, cycles};
  }

  Census count(std::size_t block_trials, std::size_t levels) const {
    Census census;
    census.patterns.assign(levels + 1, 0);
    census.spans = census.groups = census.patterns;
    census.sums.resize(levels + 1);
    for (const auto block : plan_.blocks(block_trials)) {
      const SharingTree tree = make_sharing_tree(delays_, block, levels);
      const PartialSumSchedule schedule = make_partial_sum_schedule(tree, cost_);
      for (std::size_t l = 1; l <= levels; ++l) {
        census.groups[l] = static_cast<double>(tree.levels[l].size());
        for (std::size_t g = 0; g < tree.levels[l].size(); ++g) {
          const Node& node = tree.levels[l][g];
          census.sums[l].patterns += schedule[l][g].patterns;
          census.sums[l].spans += schedule[l][g].spans;
          if (node.single && l > 1) continue;
          census.patterns[l] += static_cast<double>(node.patterns.size());
          for (const Pattern& p : node.patterns) census.spans[l] += p.high - p.low;
        }
      }
    }
    return census;
  }

  double shared_cycles(const WorkCut& cut, const Census& census) const {
    const auto times = static_cast<double>(cut.time_tile);
    const auto scratch = static_cast<double>(limits_.scratch_bytes);
    const std::size_t l = cut.levels;
    // Bytes of an average group's shared sums.
    const double group_bytes = (census.patterns[l] * times + census.spans[l]) /
                               blocks(cut.block_trials) / census.groups[l] *
                               static_cast<double>(limits_.sum_bytes);
    const double together = std::clamp(scratch / group_bytes, 1.0, census.groups[l]);
    const double cycles = lines_of_sum_ * (census.sums[l].for_tile(cut.time_tile) +
                                           cost_.accumulate * trials_ * census.groups[l]) +
                          traffic(cut, census.groups[l] / together);
    const double held = bytes_of_trials(cut) + std::max(group_bytes, scratch / 2);
    return held > 2 * scratch ? cost_.trials_beyond_second * cycles : cycles;
  }

  double plain_cycles(const WorkCut& cut) const {
    double each = cost_.accumulate;
    if (limits_.row_bytes < limits_.sum_bytes)
      each = limits_.row_bytes == 1 ? cost_.accumulate_bytes : cost_.accumulate_wider;
    const auto near = static_cast<double>(limits_.near_bytes);
    const auto scratch = static_cast<double>(limits_.scratch_bytes);
    const double spans = spans_of_blocks(cut.block_trials) / blocks(cut.block_trials);
    const double window = (static_cast<double>(cut.time_tile) + spans / positions_) *
                          static_cast<double>(limits_.row_bytes);
    const double together = std::clamp(near / window, std::min(16.0, positions_), positions_);
    double sums = each * positions_ * trials_;
    if (together * window > near) sums *= cost_.windows_beyond_first;
    if (together * window > scratch) sums *= cost_.windows_beyond_second;
    const double cycles = lines_of_sum_ * sums + traffic(cut, positions_ / together);
    return bytes_of_trials(cut) > scratch ? cost_.trials_beyond_second * cycles : cycles;
  }

  double bytes_of_trials(const WorkCut& cut) const {
    return static_cast<double>(cut.time_tile * cut.block_trials * limits_.sum_bytes);
  }
  double blocks(std::size_t block_trials) const {
    return static_cast<double>((plan_.trials() + block_trials - 1) / block_trials);
  }
  // Times of input that all blocks read for a tile, less the tile, summed over positions.
  double spans_of_blocks(std::size_t block_trials) const {
    double spans = 0;
    for (const auto block : plan_.blocks(block_trials))
      for (std::size_t p = 0; p < delays_.positions; ++p)
        spans += delays_(block.back(), p) - delays_(block.front(), p);
    return spans;
  }

  // What plain and shared sums alike spend on reading input and writing trials.
  double traffic(const WorkCut& cut, double bundles) const {
    const auto times_full = [&](std::size_t channels) {
      return positions_ / static_cast<double>(std::max<std::size_t>(1, channels));
    };
    const double outputs = std::max(1.0, times_full(limits_.channels_in_trial));
    const double carries = std::max(0.0, times_full(limits_.channels_in_sum) - outputs);
    const double windows = positions_ * blocks(cut.block_trials) +
                           spans_of_blocks(cut.block_trials) / static_cast<double>(cut.time_tile);
    return lines_of_sum_ * trials_ *
               (cost_.bundle * bundles + cost_.carry * carries + cost_.output * outputs) +
           cost_.input * windows * static_cast<double>(limits_.row_bytes) / kLineBytes;
  }

  const DelayPlan& plan_;
  const Delays& delays_;
  const Tunables& tunables_;
  const WorkLimits& limits_;
  const CpuCost& cost_;
  double trials_, positions_, lines_of_sum_;
  std::size_t longest_tile_;
};

}  // namespace

WorkCut choose_cut(const DelayPlan& plan, const Tunables& tunables, const WorkLimits& limits,
                   const CpuCost& cost) {
  const Counter counter(plan, tunables, limits, cost);
  const Method method = plan.config().method;
  const CountedCut plain = counter.plain();
  if (method == Method::exact) return plain.cut;
  const std::optional<CountedCut> shared = counter.shared();
  if (!shared) return plain.cut;
  // Sub-bands are there to be shared.
  const bool asked = method == Method::shared || plan.has_subbands();
  return asked || shared->cycles < plain.cycles ? shared->cut : plain.cut;
}

}  // namespace tautline::stages::dedisperse
