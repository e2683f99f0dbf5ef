// Half-precision numbers (IEEE 754 binary16) as in files and kernels, and their values.
#pragma once

#include <bit>
#include <cstdint>

#include "tautline/core/complex_int.h"

namespace tautline::core {

/// The bits of a half-precision number: sign, 5 bits of exponent, 10 of fraction. 65,504 at most.
struct Half {
  std::uint16_t bits{};
  /// Compares bits: a NaN equals itself, and 0 is not -0.
  friend constexpr bool operator==(const Half&, const Half&) = default;
};

/// Re first, 4 bytes.
using cf16 = Complex<Half>;
static_assert(sizeof(cf16) == 4);

constexpr bool is_finite(Half x) {
  return (x.bits & 0x7c00u) != 0x7c00u;
}

/// Exact for every value, subnormal and infinite ones included; a NaN remains a NaN. There is no
/// branch, so that the compiler vectorises loops over it.
constexpr float to_float(Half x) {
  // Exponent and fraction are moved to their places in a float; the exponents of the two types
  // differ by 112.
  const std::uint32_t magnitude = (x.bits & 0x7fffu) << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t not_finite = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | not_finite |
                              (x.bits & 0x8000u) << 16);
}

/// The nearest half, ties to even; from 65,520 on infinity.
constexpr Half to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  const auto with_sign = [sign](std::uint32_t m) {
    return Half{static_cast<std::uint16_t>(sign | m)};
  };
  if (magnitude > 0x7f800000u) return with_sign(0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return with_sign(0x7c00u);  // 65,520
  if (magnitude < 0x38800000u) {
    // Below 2^-14, where halves are 2^-24 apart: so are floats from 0.5 on.
    const float moved = std::bit_cast<float>(magnitude) + 0.5f;
    return with_sign(std::bit_cast<std::uint32_t>(moved) - 0x3f000000u);
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return with_sign((rounded - 0x38000000u) >> 13);
}

}  // namespace tautline::core
