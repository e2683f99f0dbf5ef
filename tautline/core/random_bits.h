// Bits that look random, for each number the same ones: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014), whose every output is a function of a counter.
#pragma once

#include <cstdint>

namespace tautline::core {

/// The generator's state grows by this much from output to output.
inline constexpr std::uint64_t kRandomStep = 0x9E3779B97F4A7C15;

/// The output for a state: each bit depends on all bits of the state.
constexpr std::uint64_t scatter_bits(std::uint64_t state) {
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EB;
  return state ^ (state >> 31);
}

/// Output `number`, from 0, of the generator with seed 0.
constexpr std::uint64_t random_bits(std::uint64_t number) {
  return scatter_bits((number + 1) * kRandomStep);
}

}  // namespace tautline::core
