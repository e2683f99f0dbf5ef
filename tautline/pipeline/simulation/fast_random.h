// A fast generator for loops that draw hundreds of millions of numbers, and the distributions that
// they draw from.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tautline/pipeline/simulation/random.h"

namespace tautline::pipeline::simulation {

/// xoshiro256++ of Blackman and Vigna (2018): 256 bits of state, passes BigCrush. The state comes
/// from Philox, so that streams of one seed are independent.
class FastRandom {
 public:
  FastRandom(std::uint64_t seed, std::uint32_t stream) {
    for (std::uint32_t half = 0; half < 2; ++half) {
      const auto words =
          philox4x32({half, stream, 0x70686F74u, 0x6F6E73u},
                     {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      state_[2 * half] = std::uint64_t{words[0]} << 32 | words[1];
      state_[2 * half + 1] = std::uint64_t{words[2]} << 32 | words[3];
    }
    if ((state_[0] | state_[1] | state_[2] | state_[3]) == 0) state_[0] = 1;
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Of mean 1.
  double exponential() { return -std::log1p(-uniform()); }

  /// By counting how many exponential steps fit into the mean, sixteen at a time, so that
  /// exp(-mean) does not vanish.
  std::uint64_t poisson(double mean) {
    constexpr double kMost = 16;
    std::uint64_t count = 0;
    for (; mean > kMost; mean -= kMost) count += poisson_small(kMost);
    return mean > 0 ? count + poisson_small(mean) : count;
  }

 private:
  std::uint64_t poisson_small(double mean) {
    const double limit = std::exp(-mean);
    std::uint64_t count = 0;
    for (double product = uniform(); product > limit; product *= uniform()) ++count;
    return count;
  }

  std::uint64_t state_[4];
};

}  // namespace tautline::pipeline::simulation
