#include "tautline/core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

namespace tautline::core {
namespace {

TEST(InPieces, GivesEveryItemOnce) {
  for (const std::size_t items : {0, 1, 5, 64, 1001})
    for (const std::size_t pieces : {0, 1, 2, 7, 16}) {
      std::vector<std::atomic<int>> seen(items);
      in_pieces(items, pieces, [&](std::size_t piece, std::size_t first, std::size_t last) {
        EXPECT_LT(piece, std::max<std::size_t>(1, pieces));
        for (std::size_t k = first; k < last; ++k) ++seen[k];
      });
      for (const auto& times : seen)
        EXPECT_EQ(times, 1) << items << " items, " << pieces << " pieces";
    }
}

TEST(InPieces, ThrowsWhatTheFirstPieceThrew) {
  std::atomic<int> done = 0;
  const auto work = [&](std::size_t piece, std::size_t, std::size_t) {
    ++done;
    if (piece >= 2) throw std::runtime_error(std::to_string(piece));
  };
  try {
    in_pieces(100, 5, work);
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "2");
  }
  EXPECT_EQ(done, 5);
}

TEST(WaitForEach, GivesEveryItemOnce) {
  for (const std::size_t items : {0, 1, 5, 64, 1001}) {
    std::vector<std::atomic<int>> seen(items);
    wait_for_each(items, [&](std::size_t k) { ++seen[k]; });
    for (const auto& times : seen) EXPECT_EQ(times, 1) << items << " items";
  }
}

// However few cores there are: each of ten items waits for all of them.
TEST(WaitForEach, ItemsWaitAtTheSameTime) {
  std::latch all(10);
  wait_for_each(10, [&](std::size_t) { all.arrive_and_wait(); });
  EXPECT_TRUE(all.try_wait());
}

TEST(WaitForEach, ThrowsWhatTheFirstItemThrew) {
  std::atomic<int> done = 0;
  try {
    wait_for_each(100, [&](std::size_t k) {
      ++done;
      if (k >= 20) throw std::runtime_error(std::to_string(k));
    });
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "20");
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace tautline::core
