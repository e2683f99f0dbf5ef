#include "tautline/core/byte_text.h"

#include <array>
#include <cstdio>

#include "tautline/core/counted.h"

namespace tautline::core {

std::string byte_text(std::size_t bytes) {
  if (bytes < (1 << 10)) return counted(bytes, "byte");
  constexpr double kKibi = 1 << 10, kMebi = 1 << 20;
  const auto value = static_cast<double>(bytes);
  const bool small = value < 0.1 * kMebi;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value / (small ? kKibi : kMebi),
                small ? "KiB" : "MiB");
  return text.data();
}

}  // namespace tautline::core
