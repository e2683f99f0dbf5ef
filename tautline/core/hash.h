// FNV-1a, 64 bits: names of cache entries, checksums against damage; no protection against malice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tautline::core {

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325;

/// `start` continues an earlier hash.
constexpr std::uint64_t hash(std::string_view bytes, std::uint64_t start = kHashStart) {
  std::uint64_t value = start;
  for (const char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

/// Sixteen hexadecimal digits.
inline std::string hash_name(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t digit = 16; digit-- > 0; value >>= 4)
    text[digit] = "0123456789abcdef"[value & 15];
  return text;
}

}  // namespace tautline::core
