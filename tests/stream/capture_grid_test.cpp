// The impairment grid: every packet that was sent is counted once, and what arrived lies where it belongs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

#include "tests/stream/capture_support.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;

constexpr std::uint64_t kTimes = 400;  // payloads of each flow
constexpr std::size_t kAntennas = 3, kChannels = 4, kWindow = 24, kBlock = 10;

struct Arrival {
  std::uint64_t time;
  std::size_t flow;
  double place;
};

struct Impairment {
  double loss, reorder, duplicate;
  std::uint64_t farthest;  // payload times that a packet may be delayed by
};

// What arrives, in order, and how many copies the network made.
std::vector<Arrival> impair(const Impairment& how, std::size_t flows, std::mt19937_64& random,
                            std::uint64_t& copies) {
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<Arrival> arrivals;
  const auto delay = [&] { return chance(random) * static_cast<double>(how.farthest * flows); };
  for (std::uint64_t time = 0; time < kTimes; ++time)
    for (std::size_t flow = 0; flow < flows; ++flow) {
      if (chance(random) < how.loss) continue;
      Arrival arrival{time, flow, static_cast<double>(time * flows + flow)};
      if (chance(random) < how.reorder) arrival.place += delay();
      arrivals.push_back(arrival);
      if (chance(random) >= how.duplicate) continue;
      arrival.place += delay();
      arrivals.push_back(arrival);
      ++copies;
    }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.place < b.place; });
  return arrivals;
}

// Every sample of a flow's payload: in its place where it came, marked where it did not. True: it came.
bool lies_in_place(const stream::Capture& capture, const KeepingStore::Kept& block,
                   std::uint64_t time, std::size_t flow, std::size_t part_bytes) {
  formats::packets::Placement placement = capture.placement();
  const auto& box = placement.box(flow);
  using formats::packets::AxisName;
  const auto sample = static_cast<std::size_t>(time * 4 - block.first);
  const std::size_t row =
      box.begin(AxisName::channel) * kAntennas * 2 + box.begin(AxisName::antenna) * 2;
  const bool valid = block.valid.valid(row, sample);
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t p = 0; p < 2; ++p)
      for (std::size_t t = 0; t < 4; ++t)
        EXPECT_EQ(block.valid.valid(row + c * kAntennas * 2 + p, sample + t), valid);
  std::vector<std::byte> found(part_bytes);
  placement.take(flow, sample, block.bytes.data(), found.data());
  EXPECT_EQ(found == payload_of(time, flow, part_bytes), valid)
      << "time " << time << " flow " << flow;
  return valid;
}

// Adds what came late to `late`.
void run_one(const Impairment& how, std::uint64_t seed, std::uint64_t& late) {
  std::mt19937_64 random(seed);
  const auto layout = small_layout(48);
  const std::uint64_t start = random() >> 17;
  KeepingStore store;
  stream::Capture capture(
      {.layout = layout,
       .shape = {.samples = kBlock * 4, .channels = kChannels, .antennas = kAntennas},
       .window_samples = kWindow * 4,
       .first_count = start,
       .sub_array = {}},
      store);
  store.set_block_bytes(capture.block_bytes());
  const std::size_t flows = capture.placement().flows();
  ASSERT_EQ(flows, 6u);
  std::uint64_t copies = 0, behind = 0;
  const auto arrivals = impair(how, flows, random, copies);
  std::set<std::pair<std::uint64_t, std::size_t>> distinct;
  std::vector<std::int64_t> latest(flows, -1);
  for (const Arrival& a : arrivals) {
    const auto packet = packet_of(capture, layout, start, a.time, a.flow);
    capture.place(packet);
    if (!distinct.insert({a.time, a.flow}).second) continue;
    const auto time = static_cast<std::int64_t>(a.time);
    if (time < latest[a.flow]) ++behind;
    latest[a.flow] = std::max(latest[a.flow], time);
  }
  capture.finish(start + kTimes * layout.step);

  const auto& c = capture.counters();
  EXPECT_EQ(c.sent(), kTimes * flows + copies);
  EXPECT_EQ(c.missing, kTimes * flows - distinct.size());
  EXPECT_EQ(c.duplicate, copies);
  EXPECT_EQ(c.accepted + c.late, distinct.size());
  EXPECT_EQ(c.reordered + c.late, behind);
  EXPECT_EQ(c.invalid(), 0u);
  late += c.late;
  if (how.farthest < kWindow) {
    EXPECT_EQ(c.late, 0u);
  }
  EXPECT_LE(store.most_open(), capture.open_blocks());

  std::uint64_t valid = 0, times = 0, missing = 0;
  for (const auto& block : store.blocks) {
    EXPECT_EQ(block.segment, 0u);
    EXPECT_EQ(block.first, times * 4);
    missing += block.missing;
    for (std::size_t k = 0; k * 4 < block.samples; ++k, ++times)
      for (std::size_t flow = 0; flow < flows; ++flow)
        valid += lies_in_place(capture, block, times, flow, layout.part_bytes()) ? 1 : 0;
  }
  EXPECT_EQ(valid, c.accepted);
  EXPECT_LE(missing, c.missing + c.late);
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
    stream::Capture capture(
        {.layout = layout,
         .shape = {.samples = kBlock * 4, .channels = kChannels, .antennas = kAntennas},
         .window_samples = kWindow * 4,
         .first_count = 0,
         .sub_array = {}},
        store);
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
