// A range of a stream's channels.
#pragma once

#include <cstddef>

namespace tautline::pipeline {

struct ChannelRange {
  std::size_t first = 0, count = 0;
};

/// Part `part` of `parts` of all `channels`, as even as possible.
inline ChannelRange share_of(std::size_t channels, std::size_t part, std::size_t parts) {
  const std::size_t first = channels * part / parts;
  return {first, channels * (part + 1) / parts - first};
}

}  // namespace tautline::pipeline
