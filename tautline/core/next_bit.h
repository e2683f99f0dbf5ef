// Runs of bits in a row of a validity mask (core/validity.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tautline::core {

/// The first bit from `from` on that is `wanted`, or `end`: 64 at a time.
inline std::size_t next_bit(const std::uint64_t* row, std::size_t from, std::size_t end,
                            bool wanted) {
  while (from < end) {
    const std::uint64_t word = wanted ? row[from / 64] : ~row[from / 64];
    if (const std::uint64_t left = word >> from % 64; left != 0)
      return std::min(end, from + static_cast<std::size_t>(std::countr_zero(left)));
    from += 64 - from % 64;
  }
  return end;
}

/// The last bit up to `from` that is set; there is one.
inline std::size_t last_set_bit(const std::uint64_t* row, std::size_t from) {
  std::uint64_t left = row[from / 64] << (63 - from % 64);
  while (left == 0) {
    from = from / 64 * 64 - 1;
    left = row[from / 64];
  }
  return from - static_cast<std::size_t>(std::countl_zero(left));
}

}  // namespace tautline::core
