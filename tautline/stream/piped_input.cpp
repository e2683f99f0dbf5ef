#include "tautline/stream/piped_input.h"

#include <algorithm>

#include "tautline/stream/live_input.h"

namespace tautline::stream {

namespace {

// Parts of the run's memory: how far a writer may be ahead, and how much a reader may keep.
constexpr std::size_t kAheadShare = 16, kMostAhead_bytes = std::size_t{256} << 20;
constexpr std::size_t kKeptShare = 4, kMostKept_bytes = std::size_t{1} << 30;

}  // namespace

std::shared_ptr<formats::ForwardBytes> open_pipe(const std::string& path, std::size_t memory_bytes,
                                                 const std::stop_token& stop) {
  return std::make_shared<formats::ForwardBytes>(
      std::make_unique<LiveInput>(path, std::min(memory_bytes / kAheadShare, kMostAhead_bytes),
                                  stop),
      std::min(memory_bytes / kKeptShare, kMostKept_bytes));
}

}  // namespace tautline::stream
