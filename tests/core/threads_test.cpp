#include "tautline/core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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

}  // namespace
}  // namespace tautline::core
