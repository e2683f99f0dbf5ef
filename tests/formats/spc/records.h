// Becker & Hickl's records, made byte by byte from the table of bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tautline::formats::spc {

inline std::string bytes_of(const std::vector<std::uint32_t>& words) {
  std::string bytes;
  for (const std::uint32_t word : words)
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xFF);
  return bytes;
}

// A clock of 12.5 ns and two routing bits.
inline constexpr std::uint32_t kHeader = 0x90000000 | 125;

inline std::uint32_t photon_word(std::uint32_t macro, std::uint32_t detector, std::uint32_t adc) {
  return adc << 16 | detector << 12 | macro;
}

}  // namespace tautline::formats::spc
