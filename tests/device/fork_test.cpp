// Processes that are forked while threads of their parent work: they do the whole work, and wait for nobody.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::device {
namespace {

constexpr unsigned kMost_s = 60;  // that a child may take before its alarm ends it

bool sums_up(Queue& queue) {
  std::vector<std::uint64_t> sums(queue.workers());
  constexpr std::uint64_t kItems = 1000;
  queue.parallel_for(kItems, 10, [&](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t k = first; k < last; ++k) sums.at(worker) += k;
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == kItems * (kItems - 1) / 2;
}

// Queues of the parent and of the child itself.
bool child_sums_up(Queue& of_parent) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kMost_s);
    bool good = sums_up(of_parent);
    for (int k = 0; k < 20; ++k) good = sums_up(*open({}, {.threads = 2})->make_queue()) && good;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(Fork, TakesNoLocksOfTheParents) {
  const auto device = open({}, {.threads = 2});
  const auto queue = device->make_queue();
  ASSERT_TRUE(sums_up(*queue));
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([&] {
      while (!over) sums_up(*device->make_queue());
    });
  for (int k = 0; k < 10; ++k) EXPECT_TRUE(child_sums_up(*queue)) << k;
  over = true;
  EXPECT_TRUE(sums_up(*queue));
}

}  // namespace
}  // namespace tautline::device
