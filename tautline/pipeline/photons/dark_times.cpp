#include "tautline/pipeline/photons/dark_times.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tautline::pipeline {

namespace {

// The expected number of dark times that are so long.
constexpr double kChanceOfFew = 1e-6;

// The expected number of dark times that are longer than `length`, if they are of exponential distribution beyond the
// kTail + 1st of `rest`, the longest first, which are `least` or longer; where it has fewer, the others are taken to be
// twice that. Of whole bins each may be one longer. The mean of the distribution is unknown: any is as likely.
double expected_beyond(double length, std::span<const BinRange> rest, double least) {
  constexpr std::size_t kTail = 32;
  const double from = rest.size() > kTail ? static_cast<double>(rest[kTail].bins()) : least;
  double sum = kTail;
  for (std::size_t k = 0; k < kTail; ++k)
    sum += k < rest.size() ? static_cast<double>(rest[k].bins()) - from : least;
  return kTail * std::pow(1 + (length - from) / sum, -static_cast<double>(kTail));
}

}  // namespace

std::size_t beyond_others(std::span<const BinRange> by_length, std::uint64_t least,
                          const StopLimits& limits) {
  std::size_t most = 0;
  std::uint64_t total = 0;
  for (const BinRange& one : by_length) {
    if (most == limits.most || one.bins() < limits.shortest || total + one.bins() > limits.total)
      break;
    total += one.bins();
    ++most;
  }
  for (; most > 0; --most)
    if (expected_beyond(static_cast<double>(by_length[most - 1].bins()), by_length.subspan(most),
                        static_cast<double>(least)) <= kChanceOfFew)
      break;
  return most;
}

}  // namespace tautline::pipeline
