// Senders that jump ahead, begin again or go back, and packets far from where the stream is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/stream/capture_support.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using namespace tautline::tests;

TEST(Capture, JumpsNeedSeveralPackets) {
  Bench bench(config_of(small_layout(48)));
  const std::uint64_t start = 1000;
  for (std::uint64_t time = 0; time < 10; ++time) bench.send(start, time);
  // A few packets far ahead and far back are not believed.
  bench.send(start, 1'000'000);
  bench.send(start, 10);
  for (std::size_t k = 0; k < 7; ++k) bench.send_flow(start, 5'000'000 + 100 * k, 0);
  bench.send(start, 11);
  for (std::uint64_t time = 12; time < 40; ++time) bench.send(start, time);
  EXPECT_EQ(bench.counters().early, 9u);
  EXPECT_EQ(bench.counters().jumps, 0u);
  EXPECT_EQ(bench.counters().missing, 0u);
  // The whole array 1000 payloads later: all packets are taken, those between are missing.
  for (std::uint64_t time = 1040; time < 1060; ++time) bench.send(start, time);
  bench.capture.finish();
  EXPECT_EQ(bench.counters().jumps, 1u);
  EXPECT_EQ(bench.counters().early, 9u);
  EXPECT_EQ(bench.counters().missing, 1000 * bench.flows());
  EXPECT_EQ(bench.counters().accepted, 60 * bench.flows());
  EXPECT_EQ(bench.counters().sent(), 1060 * bench.flows() + 9);
  const auto& last = bench.store.blocks.back();
  EXPECT_EQ(last.segment, 1u);
  EXPECT_EQ(last.start_count, start + 1040 * bench.layout.step);
  EXPECT_TRUE(last.valid.all_valid());
}

TEST(Capture, SenderThatBeginsAgainIsFollowed) {
  Bench bench(config_of(small_layout(48)));
  for (std::uint64_t time = 0; time < 30; ++time) bench.send(1'000'000, time);
  for (std::uint64_t time = 0; time < 30; ++time) bench.send(0, time);
  bench.capture.finish();
  EXPECT_EQ(bench.counters().accepted, 60 * bench.flows());
  EXPECT_EQ(bench.counters().sent(), 60 * bench.flows());
  EXPECT_EQ(bench.counters().jumps, 1u);
  EXPECT_EQ(bench.store.blocks.back().segment, 1u);
  EXPECT_EQ(bench.store.blocks.back().start_count, 0u);
}

// Threads that receive from an antenna each: the kernel drops packets of one, and the other's wait in its socket, many
// windows behind. The stream is where the first is, and all others are late, whichever comes next.
TEST(Capture, PacketsBehindAJumpAreLateAndDoNotTakeTheStreamBack) {
  auto random = generator();
  Bench bench(config_of(small_layout(48)));
  const std::uint64_t start = random() % 1'000'000, lost_from = 200,
                      lost_to = 2'000 + random() % 2'000, end = lost_to + 1'000;
  const auto is_first = [&](std::size_t flow) {
    return bench.capture.placement().header(flow).antenna == 0;
  };
  std::uint64_t lost = (lost_to - lost_from) * bench.flows() / 2;
  const auto send_some = [&](std::uint64_t& from, std::uint64_t until, bool first) {
    for (; from < until; ++from)
      for (std::size_t flow = 0; flow < bench.flows(); ++flow) {
        if (is_first(flow) != first) continue;
        const bool loses = !first && from > lost_from && from + 1 < end && random() % 8 > 0;
        lost += loses ? 1 : 0;
        if (!loses) bench.send_flow(start, from, flow);
      }
  };
  std::uint64_t first = 0, second = 0;
  for (; second < lost_from;) {
    send_some(first, first + 1, true);
    send_some(second, second + 1, false);
  }
  first = lost_to;
  while (first < end || second < end) {
    send_some(first, std::min(end, first + 8 + random() % 4), true);
    send_some(second, std::min(first, second + 1 + random() % (2 * end / 60)), false);
  }
  bench.capture.finish();
  const auto& c = bench.counters();
  EXPECT_EQ(c.jumps, 1u);
  EXPECT_EQ(c.early, 0u);
  EXPECT_EQ(c.duplicate, 0u);
  EXPECT_GT(c.late, 100u);
  EXPECT_EQ(c.missing, lost);
  EXPECT_EQ(c.sent(), end * bench.flows());
  // Repeats are told from packets that are late.
  const std::uint64_t late = c.late;
  for (std::uint64_t time = 100; time < 110; ++time) bench.send(start, time);
  for (std::uint64_t time = lost_to - 10; time < lost_to; ++time) bench.send_flow(start, time, 0);
  EXPECT_EQ(c.duplicate, 10 * bench.flows());
  EXPECT_EQ(c.late, late + 10);
  EXPECT_EQ(c.missing, lost - 10);
}

// Older than arrivals are noted of: a place that may be filled already.
TEST(Capture, PacketsOfLongAgoAreEarly) {
  Bench bench(config_of(small_layout(48)));
  for (std::uint64_t time = 0; time < 140'000; ++time) bench.send(0, time);
  for (std::uint64_t time = 5; time < 8; ++time) bench.send(0, time);
  for (std::uint64_t time = 140'000; time < 140'010; ++time) bench.send(0, time);
  bench.capture.finish();
  const auto& c = bench.counters();
  EXPECT_EQ(c.early, 3 * bench.flows());
  EXPECT_EQ(c.late, 0u);
  EXPECT_EQ(c.missing, 0u);
  EXPECT_EQ(c.jumps, 0u);
}

// Its counter is set back to no whole step, so that no packet of the stream could have its counts.
TEST(Capture, SenderThatGoesBackBetweenStepsIsFollowed) {
  Bench bench(config_of(small_layout(48)));
  for (std::uint64_t time = 0; time < 1000; ++time) bench.send(0, time);
  for (std::uint64_t time = 100; time < 130; ++time) bench.send(2, time);
  bench.capture.finish();
  const auto& c = bench.counters();
  EXPECT_EQ(c.jumps, 1u);
  EXPECT_EQ(c.accepted, 1030 * bench.flows());
  EXPECT_EQ(c.sent(), 1030 * bench.flows());
}

// Whose clock is far ahead: its packets come at once, and the stream follows; it returns to the others.
TEST(Capture, OneAntennaThatIsFollowedByMistakeIsLeft) {
  Bench bench(config_of(small_layout(48), 8));
  const auto send_others = [&](std::uint64_t from, std::uint64_t end) {
    for (; from < end; ++from)
      for (std::size_t flow = 1; flow < bench.flows(); ++flow) bench.send_flow(0, from, flow);
  };
  send_others(0, 100);
  for (std::uint64_t time = 100; time < 1000; time += 20) {
    for (std::uint64_t k = 0; k < 20; ++k) bench.send_flow(4'000'000, time + k, 0);
    send_others(time, time + 20);
  }
  EXPECT_GE(bench.counters().jumps, 2u);
  EXPECT_GT(bench.counters().accepted, 7 * 500u);
}

TEST(Capture, SenderThatGoesBackBehindAJumpIsFollowed) {
  Bench bench(config_of(small_layout(48)));
  for (std::uint64_t time = 0; time < 30; ++time) bench.send(0, time);
  for (std::uint64_t time = 5000; time < 5030; ++time) bench.send(0, time);
  for (std::uint64_t time = 2000; time < 2400; ++time) bench.send(0, time);
  bench.capture.finish();
  const auto& c = bench.counters();
  EXPECT_EQ(c.jumps, 2u);
  EXPECT_EQ(c.late, 16 * 20 * bench.flows()) << "16 windows";
  EXPECT_EQ(c.accepted, (30 + 30 + 80) * bench.flows());
  EXPECT_EQ(c.missing, (5000 - 30 - 16 * 20) * bench.flows());
}

TEST(Capture, ClockOfOneAntennaThatDisagreesIsNotFollowed) {
  Bench bench(config_of(small_layout(48), 4));
  for (std::uint64_t time = 0; time < 200; ++time)
    for (std::size_t flow = 0; flow < bench.flows(); ++flow)
      bench.send_flow(flow == 3 && time > 20 ? 40'000'000 : 0, time, flow);
  bench.capture.finish();
  EXPECT_EQ(bench.counters().jumps, 0u);
  EXPECT_EQ(bench.counters().accepted, 3 * 200 + 21u);
  EXPECT_EQ(bench.counters().early, 179u);
  EXPECT_EQ(bench.counters().missing, 179u);
}

}  // namespace
