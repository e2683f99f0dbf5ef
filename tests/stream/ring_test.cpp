#include "tautline/stream/ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace tautline::stream {
namespace {

TEST(Ring, HandsOverEverythingInOrderWhenItBlocks) {
  Ring<int> ring(3, RingPolicy::block);
  std::thread producer([&] {
    for (int k = 0; k < 1000; ++k) {
      *ring.begin_write() = k;
      ring.end_write();
    }
    ring.close();
  });
  int expected = 0;
  while (int* block = ring.begin_read()) {
    EXPECT_EQ(*block, expected++);
    ring.end_read();
  }
  producer.join();
  EXPECT_EQ(expected, 1000);
  EXPECT_EQ(ring.dropped(), 0u);
}

TEST(Ring, DropsTheOldestAndCounts) {
  Ring<int> ring(3, RingPolicy::drop_oldest);
  for (int k = 0; k < 10; ++k) {
    *ring.begin_write() = k;
    ring.end_write();
  }
  ring.close();
  for (int expected = 7; expected < 10; ++expected) {
    EXPECT_EQ(*ring.begin_read(), expected);
    ring.end_read();
  }
  EXPECT_EQ(ring.begin_read(), nullptr);
  EXPECT_EQ(ring.dropped(), 7u);
}

TEST(Ring, NeverDropsTheBlockBeingRead) {
  Ring<int> ring(2, RingPolicy::drop_oldest);
  *ring.begin_write() = 0;
  ring.end_write();
  int* held = ring.begin_read();
  for (int k = 1; k < 5; ++k) {
    *ring.begin_write() = k;
    ring.end_write();
  }
  EXPECT_EQ(*held, 0);
  ring.end_read();
  EXPECT_EQ(*ring.begin_read(), 4);
  ring.end_read();
  EXPECT_EQ(ring.dropped(), 3u);
}

TEST(Ring, DropsTheNewestAndCounts) {
  Ring<int> ring(2, RingPolicy::drop_newest);
  for (int k = 0; k < 5; ++k) {
    *ring.begin_write() = k;
    ring.end_write();
  }
  EXPECT_EQ(*ring.begin_read(), 0);
  ring.end_read();
  EXPECT_EQ(ring.dropped(), 3u);
}

TEST(Ring, ClosingReleasesAWaitingProducer) {
  Ring<int> ring(2, RingPolicy::block);
  for (int k = 0; k < 2; ++k) {
    *ring.begin_write() = k;
    ring.end_write();
  }
  std::thread producer([&] { EXPECT_EQ(ring.begin_write(), nullptr); });
  ring.close();
  producer.join();
}

}  // namespace
}  // namespace tautline::stream
