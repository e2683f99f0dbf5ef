#include "tautline/core/byte_text.h"

#include <fmt/format.h>

namespace tautline::core {

std::string byte_text(std::size_t bytes) {
  constexpr double kKibi = 1 << 10, kMebi = 1 << 20;
  const auto value = static_cast<double>(bytes);
  return value < 0.1 * kMebi ? fmt::format("{:.1f} KiB", value / kKibi)
                             : fmt::format("{:.1f} MiB", value / kMebi);
}

}  // namespace tautline::core
