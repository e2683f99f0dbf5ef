// A channel of channelized voltages that never changes.
#pragma once

#include <cstddef>

namespace tautline::stream {

/// A channel of one input that has one value at all times at which the input changes.
struct ConstantChannel {
  std::size_t channel = 0, input = 0;
};

}  // namespace tautline::stream
