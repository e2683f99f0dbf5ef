// parallel_for on threads that ThreadSanitizer can follow.
//
// oneTBB's library is not compiled for the sanitizer, which therefore sees none of its
// synchronisation and calls every loop a race. In that build alone, loops run on these threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tautline/device/device.h"

namespace tautline::device::cpu {

/// body(first, last, worker) over [0, count) in pieces of at least `grain`; throws what a body
/// threw.
inline void plain_parallel_for(std::size_t workers, std::size_t count, std::size_t grain,
                               const Queue::Body& body) {
  const std::size_t step = std::max({std::size_t{1}, grain, count / (4 * workers)});
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t first = next.fetch_add(step); first < count; first = next.fetch_add(step))
        body(first, std::min(first + step, count), worker);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t pieces = (count + step - 1) / step;
    for (std::size_t w = 1; w < std::min(workers, pieces); ++w) others.emplace_back(work, w);
    work(0);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace tautline::device::cpu
