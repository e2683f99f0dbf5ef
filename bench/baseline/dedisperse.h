// The baseline implementation for bench/dedisperse.cpp: a loop over trials, channels and samples of
// bytes that lie in rows already, compiled for the machine that it runs on; threads share the
// trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::bench {

class PlainDedisperser {
 public:
  PlainDedisperser(const stages::dedisperse::Config& config, std::size_t threads);
  /// Sums config.max_samples times of every trial; gives their number.
  std::size_t run();

 private:
  std::size_t channels_, trials_, times_, row_, threads_;
  std::vector<std::uint8_t> rows_;     // [channel][time]
  std::vector<std::uint32_t> delays_;  // [trial][channel]
  std::vector<std::int32_t> sums_;     // [trial][time]
};

}  // namespace tautline::bench
