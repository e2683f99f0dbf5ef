#include "tautline/pipeline/photons/dark_times.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tautline::pipeline {

namespace {

// The probability that chance leaves such a distance between stops and the rest, for each number of stops; its square
// divides it. And how many times as long as the rest each stop is at least.
constexpr double kChanceOfStops = 1e-6;
constexpr std::uint64_t kLongerThanRest = 2;
constexpr std::size_t kTail = 32;

// Of exponentially distributed times, the longest first, the differences of neighbours times their rank are independent and
// of one mean. The probability that the one behind the first `most` is as large as it is, from the next kTail differences.
// Where there are fewer times, the others are taken to be `least`, and as much longer than the next; of whole bins each may
// be one longer.
double chance_of(std::span<const BinRange> by_length, std::size_t most, double least) {
  const auto length = [&](std::size_t k) {
    return k < by_length.size() ? static_cast<double>(by_length[k].bins()) : least;
  };
  const auto above = [&](std::size_t k) {  // the end of the tail
    return k < by_length.size() ? length(k) - length(most + kTail) : least;
  };
  const auto number = static_cast<double>(most);
  double sum = (number + kTail) + number * above(most);
  for (std::size_t k = most; k < most + kTail; ++k) sum += above(k);
  return std::pow(1 + number * (length(most - 1) - length(most)) / sum,
                  -static_cast<double>(kTail));
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
  for (; most > 0; --most) {
    const std::uint64_t next = most < by_length.size() ? by_length[most].bins() : least;
    if (by_length[most - 1].bins() >= kLongerThanRest * next &&
        chance_of(by_length, most, static_cast<double>(least)) <=
            kChanceOfStops / static_cast<double>(most * most))
      break;
  }
  return most;
}

}  // namespace tautline::pipeline
