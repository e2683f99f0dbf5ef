// Compares a candidate's output with the expected output.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace tautline::jit {

/// Outputs are filled with this byte before a check, so that elements that were not written show.
/// As a float it is -6.3e-06, as an int it is far from any sum of small numbers.
inline constexpr std::uint8_t kPoison = 0xb6;

/// Empty when every value is as expected, within `tolerance` for floats; else the number of wrong
/// values, and the first of them. Values that were never written are named as such.
template <class T>
std::string describe_difference(std::span<const T> found, std::span<const T> expected,
                                double tolerance = 0) {
  T poison;
  std::memset(&poison, kPoison, sizeof poison);
  std::size_t wrong = 0, first = 0, unwritten = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    bool same = found[k] == expected[k];
    if constexpr (std::is_floating_point_v<T>)
      same = same || std::abs(found[k] - expected[k]) <= tolerance;
    if (same) continue;
    if (wrong++ == 0) first = k;
    if (std::memcmp(&found[k], &poison, sizeof poison) == 0) ++unwritten;
  }
  if (wrong == 0) return {};
  const std::string of = " of " + std::to_string(expected.size()) + " values";
  if (unwritten == expected.size())
    return "it wrote nothing: all" + of.substr(3) + " are as they were";
  std::string text = std::to_string(wrong) + of + " differ, the first at " + std::to_string(first) +
                     ": " + std::to_string(found[first]) + ", expected " +
                     std::to_string(expected[first]);
  if (unwritten > 0) text += "; " + std::to_string(unwritten) + " were not written";
  return text;
}

}  // namespace tautline::jit
