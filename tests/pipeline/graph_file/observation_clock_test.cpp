#include "tautline/pipeline/graph_file/observation_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tautline::pipeline {
namespace {

// The system's clock counts nanoseconds, from 1677 to 2262.
TEST(ObservationClock, TakesTimesBeforeAndBehindThoseOfTheSystemsClock) {
  const core::LogSink no_log = [](core::LogLevel, const std::string&) {};
  std::stop_source stopped;
  stopped.request_stop();
  for (const char* utc : {"0001-01-01-00:00:00", "1600-01-01-00:00:00", "1677-01-01-00:00:00"}) {
    Observation begun, over;
    begun.start = over.stop = core::parse_utc(utc);
    EXPECT_TRUE(wait_for_observation(begun, "x", {}, no_log)) << utc;
    EXPECT_FALSE(wait_for_observation(over, "x", {}, no_log)) << utc;
  }
  for (const char* utc : {"2263-01-01-00:00:00", "9999-01-01-00:00:00"}) {
    Observation late, open;
    late.start = open.stop = core::parse_utc(utc);
    EXPECT_FALSE(wait_for_observation(late, "x", stopped.get_token(), no_log)) << utc;
    EXPECT_TRUE(wait_for_observation(open, "x", {}, no_log)) << utc;
  }
}

}  // namespace
}  // namespace tautline::pipeline
