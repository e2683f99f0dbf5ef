// The baseline implementation for bench/detect.cpp: a boxcar search as plain loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tautline::bench {

struct PlainHit {
  std::size_t first = 0, width = 0;
  float snr = 0;
};

/// Takes a running mean of `window` samples off, measures the RMS, and writes every boxcar over
/// `threshold` to `hits`.
void plain_search(const std::int32_t* x, std::size_t n, std::size_t window,
                  const std::vector<std::size_t>& widths, double threshold,
                  std::vector<PlainHit>& hits);

}  // namespace tautline::bench
