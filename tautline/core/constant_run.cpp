#include "tautline/core/constant_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tautline::core {

namespace {

constexpr double kChancesPerHour = 1e-9;
constexpr double kSecondsPerHour = 3600;

}  // namespace

// 1 bit: 95 % of it ones.
double chance_of_a_repeat(int bits) {
  if (bits <= 1) return 0.9;
  if (bits <= 2) return 0.8;
  return bits <= 8 ? 0.7 : 0.5;
}

// A run of n repeats begins at a given sample with probability p^n.
std::size_t repeats_of_nothing(int bits, double samples_per_s) {
  return static_cast<std::size_t>(
      std::ceil(log_chance_of_nothing(samples_per_s) / std::log(chance_of_a_repeat(bits))));
}

double log_chance_of_nothing(double samples_per_s) {
  return std::log(kChancesPerHour / (std::max(1.0, samples_per_s) * kSecondsPerHour));
}

std::optional<ConstantRun> find_constant_run(const ItemSeries& series, std::size_t repeats,
                                             std::size_t from) {
  const auto equal = [&series](std::size_t a, std::size_t b) { return series.equal(a, b); };
  const auto around = [&](std::size_t k) { return run_around(equal, series.count, k, from); };
  std::uint64_t middle = 0;  // bytes: most items differ there
  if (series.bytes < sizeof middle)
    return find_constant_run(equal, around, series.count, repeats, from);
  const std::size_t offset = (series.bytes - sizeof middle) / 2, step = probe_step(repeats);
  const auto next = [&](std::size_t k) {
    if (k >= series.count) return k;
    std::memcpy(&middle, series.at(k) + offset, sizeof middle);
    for (; k + step < series.count; k += step) {
      const std::uint64_t before = middle;
      std::memcpy(&middle, series.at(k + step) + offset, sizeof middle);
      if (middle == before) break;
    }
    return k;
  };
  return find_constant_run(equal, around, next, series.count, repeats, from);
}

}  // namespace tautline::core
