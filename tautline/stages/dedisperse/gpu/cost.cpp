#include "tautline/stages/dedisperse/gpu/cost.h"

#include <algorithm>

namespace tautline::stages::dedisperse {

double call_cycles(const DelayPlan& plan, const device::Device& device, std::size_t element_bytes,
                   double cycles, double dearest, std::size_t tile_times) {
  const auto times = static_cast<double>(plan.max_new_samples() * plan.config().beams);
  const auto all =
      static_cast<double>(std::max<std::size_t>(1, device.properties().multiprocessors));
  const double share = cycles * times / static_cast<double>(tile_times) / all;
  // Calls too small for all multiprocessors take longer than their share. Not so counted of floats:
  // each kernel adds in an order of its own, so their sums would depend on the size of a call. Nor
  // on OpenCL, whose compute units may be less than a group takes.
  const bool sees_idle = element_bytes == 1 && device.api() == device::Api::cuda;
  return sees_idle ? std::max(dearest, share) : share;
}

}  // namespace tautline::stages::dedisperse
