#include "tautline/stages/dedisperse/plan/making.h"

#include "tautline/stages/dedisperse/cpu/kernels.h"

namespace tautline::stages::dedisperse {

namespace {

// Cycles for 64 bytes of sums, in the units of plan/cost.cpp: what adding one to a trial takes, times
// what was measured beside that on an Intel Xeon, 3.0 for two and 4.7 for four
// (docs/performance/dedisperse.md). Pairs of rows could not be told from what does not change, since
// all programs make as many.
constexpr double kAddRows = 3.6;  // two loads that widen, a store
constexpr double kAddSums = 3.3;  // two loads, one of which crosses lines, and a store
constexpr double kAddFour = 5.1;  // four loads, and a store

MakingCost of_patterns(const Node& node, double cycles) {
  MakingCost cost;
  for (const Pattern& p : node.patterns) {
    cost.patterns += cycles;
    cost.spans += cycles * static_cast<double>(p.high - p.low);
  }
  return cost;
}

}  // namespace

Making::Making(const Tree& tree) : steps_(tree.levels.size()) {
  for (std::size_t l = 1; l < tree.levels.size(); ++l) {
    const auto& nodes = tree.levels[l];
    for (std::size_t g = 0; g < nodes.size(); ++g) {
      Step step;
      if (l == 1) {
        step.cost = of_patterns(nodes[g], kAddRows);
      } else if (nodes[g].single) {
        step.cost = cost(l - 1, 2 * g);
      } else {
        step.cost = cost(l - 1, 2 * g) + cost(l - 1, 2 * g + 1) + of_patterns(nodes[g], kAddSums);
        if (l > 2 && !tree.levels[l - 1][2 * g + 1].single) {
          MakingCost quarters = of_patterns(nodes[g], kAddFour);
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
