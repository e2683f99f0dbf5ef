// The work list of tile.kernel: the places of rows and sums in shared memory.
#include "tautline/stages/dedisperse/gpu/tile_work_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tautline/core/integers.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

// Bytes of shared memory from the first to behind the last.
struct Range {
  std::size_t begin = 0, end = 0;
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

constexpr std::size_t kSumBytes = 8;  // an entry of bytes' sums

// The rows and sums of a work list, block after block and bundle after bundle.
class Lists {
 public:
  Lists(const GpuWorkList& list, const GroupShape& shape, std::size_t levels)
      : staged_(list.lists[0]),
        places_(list.lists[3]),
        trials_(shape.trials()),
        span_(shape.span()),
        positions_(list.numbers[0]),
        bundle_rows_(list.numbers[1]),
        groups_(core::divide_up(positions_, std::size_t{1} << levels)),
        bundle_groups_(bundle_rows_ >> levels) {}

  std::size_t bundles() const { return (groups_ + bundle_groups_ - 1) / bundle_groups_; }

  std::vector<Range> rows(std::size_t block, std::size_t bundle) const {
    std::vector<Range> ranges;
    const std::size_t first = bundle * bundle_rows_;
    for (std::size_t p = first; p < std::min(first + bundle_rows_, positions_); ++p) {
      const std::uint32_t word = staged_[2 * (block * positions_ + p) + 1];
      const std::size_t begin = (word & 0xffff) * 16;
      ranges.push_back({begin, begin + (word >> 16) * 16});
    }
    return ranges;
  }

  // The sums that trials add.
  std::vector<Range> sums(std::size_t block, std::size_t bundle) const {
    const std::size_t pairs = (bundle_groups_ + 1) / 2;
    const std::size_t first = (block * bundles() + bundle) * pairs * trials_;
    std::vector<Range> ranges;
    for (std::size_t g = 0; g < std::min(bundle_groups_, groups_ - bundle * bundle_groups_); ++g)
      for (std::size_t i = 0; i < trials_; ++i) {
        const std::uint32_t both = places_[first + g / 2 * trials_ + i];
        const std::size_t at = both >> (g % 2 * 16) & 0xffff;
        ranges.push_back({at * kSumBytes, (at + span_) * kSumBytes});
      }
    return ranges;
  }

 private:
  const std::vector<std::uint32_t>&staged_, &places_;
  std::size_t trials_, span_, positions_, bundle_rows_, groups_, bundle_groups_;
};

// After an odd number of stages the next bundle's rows are staged while trials read the last sums.
TEST(TileWorkList, RowsOnTheirWayKeepOffTheSumsThatAreRead) {
  std::size_t looked_at = 0;
  for (const std::size_t channels : {61u, 128u, 300u})
    for (const std::size_t levels : {2u, 4u})
      for (const std::size_t kib : {6u, 8u, 12u, 16u, 24u})
        for (const double step : {1.0, 2.5, 6.0}) {
          Config config = small_config(channels, 8, 45);
          config.dms = even_dms(step, 45);
          config.max_samples = 330;
          const DelayPlan plan(config);
          const GroupShape shape{{16, 2, 1, 4}, 1, kib << 10, 257};
          const auto list = make_tile_work_list(plan, shape, levels);
          if (!list) continue;
          EXPECT_LE(list->shared_bytes, shape.shared_bytes);
          const Lists lists(*list, shape, levels);
          const std::size_t blocks = core::divide_up(plan.trials(), shape.trials());
          for (std::size_t b = 0; b < blocks; ++b)
            for (std::size_t k = 0; k + 1 < lists.bundles(); ++k)
              for (const Range& row : lists.rows(b, k + 1))
                for (const Range& sum : lists.sums(b, k)) {
                  ++looked_at;
                  ASSERT_FALSE(row.meets(sum))
                      << channels << " channels, " << levels << " levels, " << kib
                      << " KiB, DMs by " << step << ", block " << b << ", bundle " << k
                      << ": rows to " << row.end << ", sums from " << sum.begin;
                }
        }
  EXPECT_GT(looked_at, 10000u);
}

}  // namespace
}  // namespace tautline::stages::dedisperse
