// In which steps a processor makes the shared sums of a tree.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/plan/sharing.h"

namespace tautline::stages::dedisperse {

/// Of a node and of all that it is made of: cycles for 64 bytes of sums of every pattern, and of
/// every time that patterns are used beyond a tile.
struct PartialSum {
  bool from_quarters = false;  ///< at once, without the halves' sums
  double patterns = 0, spans = 0;

  double for_tile(std::size_t times) const { return patterns + spans / static_cast<double>(times); }
};

/// [level][node]. Sums of a node are made of its halves', or at once of its quarters' where the
/// halves would have so many patterns that those cost more than they save.
using PartialSumSchedule = std::vector<std::vector<PartialSum>>;
PartialSumSchedule make_partial_sum_schedule(const SharingTree& tree, const CpuCost& cost);

}  // namespace tautline::stages::dedisperse
