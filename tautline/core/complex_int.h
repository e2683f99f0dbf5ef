// Complex integers as in files and kernels: re before im, every value legal.
#pragma once

#include <cstdint>

namespace tautline::core {

/// A complex number of two integers, 2 * sizeof(T) bytes, re first. No arithmetic that could
/// overflow T is defined: widen first. -128 is a legal value of either part of a ci8.
template <class T>
struct Complex {
  T re{};
  T im{};
  constexpr Complex& operator+=(const Complex& other) requires(sizeof(T) == 8) {
    re += other.re;
    im += other.im;
    return *this;
  }
  friend constexpr bool operator==(const Complex&, const Complex&) = default;
};

using ci8 = Complex<std::int8_t>;
using ci16 = Complex<std::int16_t>;
using ci32 = Complex<std::int32_t>;
using ci64 = Complex<std::int64_t>;

static_assert(sizeof(ci8) == 2 && sizeof(ci16) == 4 && sizeof(ci64) == 16);

/// One byte holding a 4 + 4 bit complex sample, two's complement, re in the low half.
struct ci4 {
  std::uint8_t packed{};
  constexpr std::int8_t re() const { return static_cast<std::int8_t>((packed & 15) ^ 8) - 8; }
  constexpr std::int8_t im() const { return static_cast<std::int8_t>((packed >> 4) ^ 8) - 8; }
  static constexpr ci4 pack(int re, int im) {
    return {static_cast<std::uint8_t>((re & 15) | ((im & 15) << 4))};
  }
  friend constexpr bool operator==(const ci4&, const ci4&) = default;
};

static_assert(sizeof(ci4) == 1);

}  // namespace tautline::core
