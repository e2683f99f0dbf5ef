#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tautline/stages/dedisperse/gpu/hopper/channel_block_work_list.h"
#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

// The properties of place_sums that channel_blocks.cuda.kernel relies on.
void expect_apart(const std::vector<std::size_t>& words, std::size_t room, std::size_t ahead,
                  const std::vector<SumsPlace>& places) {
  ASSERT_EQ(places.size(), words.size());
  for (std::size_t b = 0; b < words.size(); ++b) {
    ASSERT_LE(places[b].at + words[b], room) << b;
    ASSERT_LE(places[b].after, b == 0 ? 0 : b - 1) << b;
    ASSERT_GT(places[b].after + ahead, b) << b;
    for (std::size_t other = places[b].after; other < b; ++other)
      ASSERT_TRUE(places[b].at + words[b] <= places[other].at ||
                  places[other].at + words[other] <= places[b].at)
          << b << " and " << other;
  }
}

TEST(PlaceSums, NoneLieWhereOthersMayStillBeRead) {
  auto random = tests::generator();
  for (int n = 0; n < 2000; ++n) {
    const std::size_t room = 32 * (1 + random() % 200), ahead = 4 + random() % 5;
    std::vector<std::size_t> words(1 + random() % 70);
    for (std::size_t b = 0; b < words.size(); ++b) {
      const std::size_t before = b == 0 ? 0 : words[b - 1];
      words[b] = random() % ((room - before) / (1 + random() % 8) + 1);
    }
    expect_apart(words, room, ahead, place_sums(words, room, ahead));
  }
}

TEST(PlaceSums, ProducersRunAheadAsFarAsThereIsRoom) {
  const std::vector<std::size_t> words(20, 10);
  for (const std::size_t fit : {2, 3, 5, 8, 12}) {
    const auto places = place_sums(words, 10 * fit + 9, 8);
    for (std::size_t b = 0; b < words.size(); ++b)
      EXPECT_EQ(places[b].after, b - std::min(b, std::min<std::size_t>(fit, 8) - 1)) << b;
  }
}

// A small channel block between large ones would lie in their way.
TEST(PlaceSums, LargeNeighboursLieAtEitherEnd) {
  const std::vector<std::size_t> words{45, 10, 50, 50, 50};
  expect_apart(words, 100, 8, place_sums(words, 100, 8));
}

}  // namespace
}  // namespace tautline::stages::dedisperse
