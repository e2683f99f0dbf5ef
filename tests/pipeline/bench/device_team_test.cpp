// Work for several devices at once: all of it is done, and an error of one is the caller's.
#include "tautline/pipeline/bench/device_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tautline::pipeline {
namespace {

TEST(DeviceTeam, EveryMemberWorksOnceARound) {
  for (const std::size_t members : {1u, 2u, 5u}) {
    DeviceTeam team(members);
    std::vector<int> rounds(members);
    for (int round = 1; round <= 200; ++round) {
      team.each([&](std::size_t member) { ++rounds[member]; });
      for (const int done : rounds) ASSERT_EQ(done, round);
    }
  }
}

TEST(DeviceTeam, MembersWorkAtTheSameTime) {
  DeviceTeam team(3);
  std::atomic<int> here{0};
  team.each([&](std::size_t) {
    ++here;
    while (here < 3) std::this_thread::yield();  // for ever, if one had to wait for another
  });
  EXPECT_EQ(here, 3);
}

TEST(DeviceTeam, ThrowsWhatOneThrewWhenAllHaveEnded) {
  for (const std::size_t bad : {0u, 1u, 2u}) {
    DeviceTeam team(3);
    std::atomic<int> ended{0};
    try {
      team.each([&](std::size_t member) {
        ++ended;
        if (member >= bad) throw std::runtime_error("member " + std::to_string(member));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "member " + std::to_string(bad));
    }
    EXPECT_EQ(ended, 3);
    team.each([&](std::size_t) { ++ended; });  // it can be used again
    EXPECT_EQ(ended, 6);
  }
}

}  // namespace
}  // namespace tautline::pipeline
