// The counted cost of sums on a processor, by which the CPU plan divides its work and chooses the
// steps of shared sums.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/dedisperse/cpu/work_list.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/plan/sharing.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// Cycles of a core for 64 bytes of sums: relative, not a promise. They decide time, never results.
struct CpuCost {
  double accumulate;  ///< a sum added to a trial: a load
  double bundle;      ///< a trial's sums loaded and stored again
  double input;       ///< a line of input from the third-level cache
  double add_rows;    ///< a shared sum of two rows: two loads that widen, a store
  double add_sums;    ///< of two sums: two loads, one of which crosses lines, and a store
  double add_four;    ///< of four: four loads, and a store
  /// Factors where windows exceed the first-level cache or the second-level cache, and where the
  /// trials of a tile exceed the second-level cache.
  double windows_beyond_first, windows_beyond_second, trials_beyond_second;
};

/// A core that loads one line-crossing vector a cycle; add_sums and add_four, in proportion to
/// accumulate, were measured on an Intel Xeon (docs/performance/dedisperse.md).
inline constexpr CpuCost kXeonCost{.accumulate = 1.1,
                                   .bundle = 4,
                                   .input = 6,
                                   .add_rows = 3.6,
                                   .add_sums = 3.3,
                                   .add_four = 5.1,
                                   .windows_beyond_first = 1.6,
                                   .windows_beyond_second = 2,
                                   .trials_beyond_second = 1.5};

/// The cost of a node and of all nodes below it: cycles for 64 bytes of sums of every pattern, and
/// of every time that patterns are used beyond a tile.
struct PartialSum {
  bool from_quarters = false;  ///< at once, without the halves' sums
  double patterns = 0, spans = 0;

  double for_tile(std::size_t times) const { return patterns + spans / static_cast<double>(times); }
};

/// [level][node]. Sums of a node are made of the sums of its halves, or directly of the sums of its
/// quarters where the halves would have so many patterns that these cost more than they save.
using PartialSumSchedule = std::vector<std::vector<PartialSum>>;
PartialSumSchedule make_partial_sum_schedule(const SharingTree& tree, const CpuCost& cost);

/// The cheapest cut for exact or shared sums, as plan.config().method says; of both where the
/// method is automatic. Sums that hold one channel cannot be shared. Tunables that are set are
/// kept.
WorkCut choose_cut(const DelayPlan& plan, const Tunables& tunables, const WorkLimits& limits,
                   const CpuCost& cost);

}  // namespace tautline::stages::dedisperse
