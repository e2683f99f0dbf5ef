// A loop on the calling thread or on all workers of a queue.
#pragma once

#include <cstddef>

#include "tautline/device/device.h"

namespace tautline::stages::correlate::cpu {

/// body(first, last, worker) over [0, count): on this thread, as `worker`, when `queue` is null.
template <class Body>
void for_range(device::Queue* queue, std::size_t worker, std::size_t count, const Body& body) {
  if (queue == nullptr) {
    body(0, count, worker);
  } else {
    // A lambda that captures one reference fits std::function without an allocation.
    queue->parallel_for(count, 1, [&body](std::size_t first, std::size_t last, std::size_t w) {
      body(first, last, w);
    });
  }
}

}  // namespace tautline::stages::correlate::cpu
