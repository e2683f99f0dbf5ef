// Work for several devices at once: all of it is done, and an error of one is the caller's.
#include "tautline/pipeline/bench/device_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace tautline::pipeline {
namespace {

TEST(DeviceThreads, EveryThreadWorksOnceARound) {
  for (const std::size_t devices : {1u, 2u, 5u}) {
    DeviceThreads threads(devices);
    std::vector<int> rounds(devices);
    for (int round = 1; round <= 200; ++round) {
      threads.each([&](std::size_t device) { ++rounds[device]; });
      for (const int done : rounds) ASSERT_EQ(done, round);
    }
  }
}

TEST(DeviceThreads, ThreadsWorkAtTheSameTime) {
  DeviceThreads threads(3);
  std::atomic<int> here{0};
  threads.each([&](std::size_t) {
    ++here;
    while (here < 3) std::this_thread::yield();  // for ever, if one had to wait for another
  });
  EXPECT_EQ(here, 3);
}

TEST(DeviceThreads, ThrowsWhatOneThrewWhenAllHaveEnded) {
  for (const std::size_t bad : {0u, 1u, 2u}) {
    DeviceThreads threads(3);
    std::atomic<int> ended{0};
    try {
      threads.each([&](std::size_t device) {
        ++ended;
        if (device >= bad) throw std::runtime_error("device " + std::to_string(device));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "device " + std::to_string(bad));
    }
    EXPECT_EQ(ended, 3);
    threads.each([&](std::size_t) { ++ended; });  // it can be used again
    EXPECT_EQ(ended, 6);
  }
}

}  // namespace
}  // namespace tautline::pipeline
