// How long a call takes, measured for some milliseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "tautline/core/stopwatch.h"
#include "tautline/device/device.h"

namespace tautline::pipeline {

/// Mean seconds of a few calls, each with the work that it puts on the queue. `calls_of_run`: as many as
/// the run will make; of few calls fewer are measured.
template <class Call>
double time_calls(device::Queue& queue, Call call,
                  double calls_of_run = std::numeric_limits<double>::infinity()) {
  constexpr double kLeast_s = 0.02;     // to time for
  constexpr double kShareOfRun = 0.01;  // or this part of the run's calls
  constexpr double kMostCalls = 8;
  const auto most =
      static_cast<std::size_t>(std::clamp(kShareOfRun * calls_of_run, 1.0, kMostCalls));
  call();  // touches its memory for the first time
  queue.synchronise();
  const auto start = core::Clock::now();
  std::size_t calls = 0;
  do {
    call();
    queue.synchronise();
    ++calls;
  } while (calls < most && core::seconds_since(start) < kLeast_s);
  return core::seconds_since(start) / static_cast<double>(calls);
}

}  // namespace tautline::pipeline
