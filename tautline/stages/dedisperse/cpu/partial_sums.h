// In which steps a processor makes the shared sums of a tree.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/plan/sharing.h"

namespace tautline::stages::dedisperse {

/// What making the sums of a node and of all that it is made of costs: cycles for 64 bytes of sums
/// of every pattern, and of every time that patterns are used beyond a tile.
struct StepCost {
  double patterns = 0, spans = 0;
  double for_tile(std::size_t times) const { return patterns + spans / static_cast<double>(times); }
};
inline StepCost operator+(const StepCost& a, const StepCost& b) {
  return {a.patterns + b.patterns, a.spans + b.spans};
}

/// Sums of a node are made of its halves', or at once of its quarters' where the halves would have
/// so many patterns that those cost more than they save.
class PartialSumSchedule {
 public:
  PartialSumSchedule(const SharingTree& tree, const CpuCost& cost);

  bool from_quarters(std::size_t level, std::size_t node) const {
    return steps_[level][node].from_quarters;
  }
  const StepCost& cost(std::size_t level, std::size_t node) const {
    return steps_[level][node].cost;
  }

 private:
  struct Step {
    bool from_quarters = false;
    StepCost cost;
  };
  std::vector<std::vector<Step>> steps_;  // [level][node]
};

}  // namespace tautline::stages::dedisperse
