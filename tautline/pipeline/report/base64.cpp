#include "tautline/pipeline/report/base64.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tautline::pipeline::report {

static_assert(std::endian::native == std::endian::little,
              "the page reads its arrays as little-endian");

std::string base64(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t present = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < present ? std::to_integer<std::uint32_t>(bytes[at + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= present ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace tautline::pipeline::report
