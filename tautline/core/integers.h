// Sizes of memory and launches: whole numbers of parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautline::core {

/// The number of parts of size `part` that hold `value`.
constexpr std::size_t divide_up(std::size_t value, std::size_t part) {
  return (value + part - 1) / part;
}

/// The next multiple of `unit`, `value` itself when it is one.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return divide_up(value, unit) * unit;
}

/// For arguments of kernels: the caller has checked the range.
constexpr std::uint32_t u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace tautline::core
