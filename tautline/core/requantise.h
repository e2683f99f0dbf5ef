// Float voltages to 8- or 4-bit integers: round half to even, clip symmetrically, count the clipped.
#pragma once

#include <cmath>
#include <cstdint>

namespace tautline::core {

/// The rms, in steps, to which `correlate` brings every channel and input before 8-bit rounding.
/// At 20 steps a Gaussian loses 2e-4 of its sensitivity to rounding and clips once in 5e9 samples.
inline constexpr double kRequantise8Rms = 20.0;

/// The same for 4 bits: near the optimum of a 15-level quantiser (step 0.335 sigma).
inline constexpr double kRequantise4Rms = 2.985;

/// Largest magnitude that a signed `bits`-bit output takes: clipping is symmetric.
constexpr int requantise_limit(int bits) { return (1 << (bits - 1)) - 1; }

/// value * gain rounded half to even and clipped to +-limit; adds one to `clipped` when it was
/// outside. NaN becomes zero and counts as clipped. The product is rounded to float first.
inline int requantise(float value, float gain, int limit, std::uint64_t& clipped) {
  const float scaled = value * gain;
  const float rounded = std::nearbyint(scaled);
  if (rounded >= static_cast<float>(-limit) && rounded <= static_cast<float>(limit))
    return static_cast<int>(rounded);
  ++clipped;
  if (std::isnan(scaled)) return 0;
  return scaled < 0 ? -limit : limit;
}

}  // namespace tautline::core
