// A launch with its arguments in the call.
#pragma once

#include "tautline/device/device.h"

namespace tautline::device {

/// Enqueues a kernel with these arguments, in order.
template <class... Arguments>
void launch(Queue& queue, const Kernel& kernel, const LaunchShape& shape,
            const Arguments&... arguments) {
  const Argument list[] = {arguments...};
  queue.launch(kernel, shape, list);
}

}  // namespace tautline::device
