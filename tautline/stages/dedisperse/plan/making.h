// In which steps the shared sums of a tree are made.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/dedisperse/plan/tree.h"

namespace tautline::stages::dedisperse {

/// What making the sums of a node and of all that it is made of costs: cycles for 64 bytes of sums
/// of every pattern, and of every time that patterns are used beyond a tile.
struct MakingCost {
  double patterns = 0, spans = 0;
  double for_tile(std::size_t times) const { return patterns + spans / static_cast<double>(times); }
};
inline MakingCost operator+(const MakingCost& a, const MakingCost& b) {
  return {a.patterns + b.patterns, a.spans + b.spans};
}

/// Sums of a node are made of its halves', or at once of its quarters' where the halves would have
/// so many patterns that those cost more than they save.
class Making {
 public:
  explicit Making(const Tree& tree);

  bool from_quarters(std::size_t level, std::size_t node) const {
    return steps_[level][node].from_quarters;
  }
  const MakingCost& cost(std::size_t level, std::size_t node) const {
    return steps_[level][node].cost;
  }

 private:
  struct Step {
    bool from_quarters = false;
    MakingCost cost;
  };
  std::vector<std::vector<Step>> steps_;  // [level][node]
};

}  // namespace tautline::stages::dedisperse
