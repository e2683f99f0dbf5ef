// What tile.kernel is told to do: where rows and sums lie in local memory.
#include "tautline/stages/dedisperse/gpu/tile_work_list.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tautline/stages/dedisperse/plan/delays.h"
#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

// Bytes of local memory from the first to behind the last.
struct Range {
  std::size_t begin = 0, end = 0;
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

constexpr std::size_t kSumBytes = 8;  // an entry of bytes' sums

// The lists of one list, block after block and bundle after bundle.
class Lists {
 public:
  Lists(const TileWorkList& list, const TileShape& shape, std::size_t positions)
      : list_(list),
        shape_(shape),
        positions_(positions),
        groups_((positions >> list.levels) +
                ((positions >> list.levels) << list.levels != positions)),
        bundle_groups_(list.bundle_rows >> list.levels) {}

  std::size_t bundles() const { return (groups_ + bundle_groups_ - 1) / bundle_groups_; }

  std::vector<Range> rows(std::size_t block, std::size_t bundle) const {
    std::vector<Range> ranges;
    const std::size_t first = bundle * list_.bundle_rows;
    for (std::size_t p = first; p < std::min(first + list_.bundle_rows, positions_); ++p) {
      const std::uint32_t word = list_.staged[2 * (block * positions_ + p) + 1];
      const std::size_t begin = (word & 0xffff) * 16;
      ranges.push_back({begin, begin + (word >> 16) * 16});
    }
    return ranges;
  }

  // That trials add.
  std::vector<Range> sums(std::size_t block, std::size_t bundle) const {
    const std::size_t pairs = (bundle_groups_ + 1) / 2;
    const std::size_t first = (block * bundles() + bundle) * pairs * shape_.trials;
    std::vector<Range> ranges;
    for (std::size_t g = 0; g < std::min(bundle_groups_, groups_ - bundle * bundle_groups_); ++g)
      for (std::size_t i = 0; i < shape_.trials; ++i) {
        const std::uint32_t both = list_.places[first + g / 2 * shape_.trials + i];
        const std::size_t at = both >> (g % 2 * 16) & 0xffff;
        ranges.push_back({at * kSumBytes, (at + shape_.span) * kSumBytes});
      }
    return ranges;
  }

 private:
  const TileWorkList& list_;
  const TileShape& shape_;
  std::size_t positions_, groups_, bundle_groups_;
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
          const TileShape shape{16, 8, 32, true, kib << 10, 257};
          const auto list = make_tile_work_list(plan, shape, levels);
          if (!list) continue;
          EXPECT_LE(list->local_bytes, shape.local_bytes);
          const Lists lists(*list, shape, plan.positions());
          const std::size_t blocks = (plan.trials() + shape.trials - 1) / shape.trials;
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
