#include "tautline/core/constant_run.h"

#include <algorithm>
#include <cmath>

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

}  // namespace tautline::core
