#include "tautline/stages/dedisperse/cpu/partial_sums.h"

#include "tautline/stages/dedisperse/cpu/kernels.h"

namespace tautline::stages::dedisperse {

namespace {

// Of a node's patterns, each of `cycles`, on top of `parts` [first, first + count).
PartialSum made_of(const Node& node, double cycles, const PartialSum* parts, std::size_t count) {
  PartialSum sum;
  for (const Pattern& p : node.patterns) {
    sum.patterns += cycles;
    sum.spans += cycles * static_cast<double>(p.high - p.low);
  }
  for (std::size_t k = 0; k < count; ++k) {
    sum.patterns += parts[k].patterns;
    sum.spans += parts[k].spans;
  }
  return sum;
}

}  // namespace

PartialSumSchedule make_partial_sum_schedule(const SharingTree& tree, const CpuCost& cost) {
  PartialSumSchedule schedule(tree.levels.size());
  for (std::size_t l = 1; l < tree.levels.size(); ++l)
    for (std::size_t g = 0; g < tree.levels[l].size(); ++g) {
      const Node& node = tree.levels[l][g];
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

}  // namespace tautline::stages::dedisperse
