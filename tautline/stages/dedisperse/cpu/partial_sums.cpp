#include "tautline/stages/dedisperse/cpu/partial_sums.h"

#include "tautline/stages/dedisperse/cpu/kernels.h"

namespace tautline::stages::dedisperse {

namespace {

StepCost of_patterns(const Node& node, double cycles) {
  StepCost cost;
  for (const Pattern& p : node.patterns) {
    cost.patterns += cycles;
    cost.spans += cycles * static_cast<double>(p.high - p.low);
  }
  return cost;
}

}  // namespace

PartialSumSchedule::PartialSumSchedule(const SharingTree& tree, const CpuCost& cycles)
    : steps_(tree.levels.size()) {
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    const auto& nodes = tree.levels[l];
    for (std::size_t g = 0; g < nodes.size(); ++g) {
      Step step;
      if (l == 1) {
        step.cost = of_patterns(nodes[g], cycles.add_rows);
      } else if (nodes[g].single) {
        step.cost = cost(l - 1, 2 * g);
      } else {
        step.cost =
            cost(l - 1, 2 * g) + cost(l - 1, 2 * g + 1) + of_patterns(nodes[g], cycles.add_sums);
        if (l > 2 && !tree.levels[l - 1][2 * g + 1].single) {
          StepCost quarters = of_patterns(nodes[g], cycles.add_four);
          for (std::size_t k = 0; k < 4; ++k) quarters = quarters + cost(l - 2, 4 * g + k);
          step.from_quarters = quarters.for_tile(kGranule) < step.cost.for_tile(kGranule);
          if (step.from_quarters) step.cost = quarters;
        }
      }
      steps_[l].push_back(step);
    }
  }
}

}  // namespace tautline::stages::dedisperse
