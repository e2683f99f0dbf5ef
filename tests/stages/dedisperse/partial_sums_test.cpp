// The steps in which shared sums are made; that sums are right however they are made is for the
// exact tests.
#include <gtest/gtest.h>

#include <span>

#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/cpu/kernels.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

constexpr std::size_t kLevels = 7;

// Times to compute for each time of a tile.
double times(const SharingNode& node) {
  double sum = 0;
  for (const Pattern& p : node.patterns) sum += 1 + static_cast<double>(p.high - p.low) / kGranule;
  return sum;
}

TEST(PartialSumSchedule, SkipsHalvesThatCostMoreThanTheySave) {
  // What Exact.EveryLevelOfSharingAndEverySizeOfTile sums has nodes of both kinds.
  Config config = small_config(77, 8, 50);
  for (const double step : {0.25, 2.5, 25.0}) {
    config.dms = even_dms(step, 50);
    const DelayPlan plan(config);
    const SharingTree tree = make_sharing_tree(plan.delays(), std::span(plan.order()), kLevels);
    const PartialSumSchedule schedule = make_partial_sum_schedule(tree, kXeonCost);
    std::size_t from_quarters = 0, from_halves = 0;
    for (std::size_t l = 2; l <= kLevels; ++l)
      for (std::size_t g = 0; g < tree.levels[l].size(); ++g) {
        const SharingNode& node = tree.levels[l][g];
        const bool quarters = schedule[l][g].from_quarters;
        if (l == 2 || node.single || tree.levels[l - 1][2 * g + 1].single) {
          EXPECT_FALSE(quarters) << "level " << l << ", node " << g << " has no four quarters";
          continue;
        }
        (quarters ? from_quarters : from_halves) += 1;
        const double halves =
            times(tree.levels[l - 1][2 * g]) + times(tree.levels[l - 1][2 * g + 1]);
        const bool plain =
            !schedule[l - 1][2 * g].from_quarters && !schedule[l - 1][2 * g + 1].from_quarters;
        if (plain && halves > times(node)) {
          EXPECT_TRUE(quarters) << halves << ", " << times(node);
        } else if (halves < times(node) / 4) {
          EXPECT_FALSE(quarters) << halves << ", " << times(node);
        }
      }
    EXPECT_GT(from_quarters, 0u) << "steps of " << step;
    EXPECT_GT(from_halves, 0u) << "steps of " << step;
  }
}

}  // namespace
}  // namespace tautline::stages::dedisperse
