#include "tautline/pipeline/simulation/random.h"

#include <cmath>
#include <numbers>

#include "tautline/pipeline/simulation/kernels.h"

namespace tautline::pipeline::simulation {

namespace {

double density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}

// The z that a normal deviate exceeds with probability q in (0, 0.5], by Newton's method from the
// left, where it converges because the tail is convex.
double upper_quantile(double q, double guess) {
  for (int step = 0; step < 100; ++step) {
    const double tail = std::erfc(guess / std::numbers::sqrt2) / 2;
    const double move = (tail - q) / density(guess);
    guess += move;
    if (std::abs(move) < 1e-14) break;
  }
  return guess;
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

NormalTable::NormalTable() {
  constexpr std::size_t kHalf = kSize / 2;
  // Slice h of the upper half lies between the quantiles of tails (kHalf - h) and (kHalf - h - 1)
  // of kSize; the mean over a slice of probability 1 / kSize is kSize (density(a) - density(b)).
  double a = 0, power = 0;
  std::array<double, kHalf> means;
  for (std::size_t h = 0; h < kHalf; ++h) {
    const bool last = h + 1 == kHalf;
    const double tail = static_cast<double>(kHalf - h - 1) / static_cast<double>(kSize);
    const double b = last ? 0 : upper_quantile(tail, a);
    means[h] = static_cast<double>(kSize) * (density(a) - (last ? 0 : density(b)));
    power += means[h] * means[h];
    a = b;
  }
  const double scale = 1 / std::sqrt(power / static_cast<double>(kHalf));
  for (std::size_t h = 0; h < kHalf; ++h) {
    values_[kHalf + h] = static_cast<float>(means[h] * scale);
    values_[kHalf - 1 - h] = -values_[kHalf + h];
  }
}

const NormalTable& NormalTable::instance() {
  static const NormalTable table;
  return table;
}

void add_normal(const RandomStream& stream, float scale, float* values, std::size_t count) {
  const std::uint32_t counter[4] = {0, stream.stream, static_cast<std::uint32_t>(stream.block),
                                    static_cast<std::uint32_t>(stream.block >> 32)};
  const std::uint32_t key[2] = {static_cast<std::uint32_t>(stream.seed),
                                static_cast<std::uint32_t>(stream.seed >> 32)};
  add_normal_deviates(NormalTable::instance().values(), counter, key, scale, values, count);
}

}  // namespace tautline::pipeline::simulation
