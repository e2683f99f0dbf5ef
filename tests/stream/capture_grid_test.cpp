// The impairment grid: every packet that was sent is counted once, and what arrived lies where it belongs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/stream/impaired_packets.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;

// Adds what came late to `late`.
void run_one(const Impairment& how, std::uint64_t seed, std::uint64_t& late) {
  ImpairedCapture run(how, seed);
  ASSERT_EQ(run.flows, 6u);
  std::uint64_t behind = 0;
  std::set<std::pair<std::uint64_t, std::size_t>> seen;
  std::vector<std::int64_t> latest(run.flows, -1);
  for (const Arrival& a : run.arrivals) {
    run.capture.place(run.packet(a));
    if (!seen.insert({a.time, a.flow}).second) continue;
    const auto time = static_cast<std::int64_t>(a.time);
    if (time < latest[a.flow]) ++behind;
    latest[a.flow] = std::max(latest[a.flow], time);
  }
  const auto& c = run.finish();
  EXPECT_EQ(c.reordered + c.late, behind);
  late += c.late;
  if (how.farthest < kWindow) {
    EXPECT_EQ(c.late, 0u);
  }
}

TEST(CaptureGrid, CountsEveryPacketOnce) {
  const int seeds = std::getenv("TAUTLINE_SMALL") != nullptr ? 2 : 20;
  const std::uint64_t first = seed();
  std::uint64_t late = 0;
  int runs = 0;
  for (const double loss : {0.0, 1e-4, 1e-3, 1e-2, 1e-1, 0.5})
    for (const double reorder : {0.0, 0.01, 0.1})
      for (const double duplicate : {0.0, 0.01})
        for (int k = 0; k < seeds; ++k, ++runs) {
          // Half of the seeds delay packets beyond the window.
          const Impairment how{loss, reorder, duplicate, k % 2 == 0 ? kWindow - 1 : 3 * kWindow};
          run_one(how, first + static_cast<std::uint64_t>(runs), late);
          ASSERT_FALSE(HasFailure())
              << "loss " << loss << " reorder " << reorder << " duplicate " << duplicate << " seed "
              << first + static_cast<std::uint64_t>(runs);
        }
  EXPECT_EQ(runs, 36 * seeds);
  EXPECT_GT(late, 0u);  // or the grid has not tried
}

// Reordering and duplication alone leave nothing to see in what is given on.
TEST(CaptureGrid, WhatCameWholeIsTheCleanRunToTheBit) {
  const auto layout = small_layout(48);
  auto random = generator();
  std::vector<KeepingStore> stores(2);
  for (KeepingStore& store : stores) {
    const bool clean = &store == &stores.front();
    stream::Capture capture(grid_config(layout, 0), store);
    store.set_block_bytes(capture.block_bytes());
    std::uint64_t copies = 0;
    const Impairment how{0, clean ? 0 : 0.1, clean ? 0 : 0.05, kWindow - 1};
    for (const Arrival& a : impair(how, capture.placement().flows(), random, copies))
      capture.place(packet_of(capture, layout, 0, a.time, a.flow));
    capture.finish();
    EXPECT_EQ(capture.counters().duplicate, copies);
  }
  ASSERT_EQ(stores[0].blocks.size(), kTimes / kBlock);
  ASSERT_EQ(stores[1].blocks.size(), kTimes / kBlock);
  for (std::size_t k = 0; k < stores[0].blocks.size(); ++k) {
    EXPECT_EQ(stores[0].blocks[k].bytes, stores[1].blocks[k].bytes) << k;
    EXPECT_TRUE(stores[1].blocks[k].valid.all_valid()) << k;
  }
}

}  // namespace
