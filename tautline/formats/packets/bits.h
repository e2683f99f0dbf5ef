// Fields of any width at any bit of a packet's header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/formats/packets/packet_layout.h"

namespace tautline::formats::packets {

constexpr std::uint64_t low_mask(std::size_t bits) {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

/// A field is within 8 bytes.
inline std::uint64_t read_bits(const std::byte* header, const Field& field) {
  const std::size_t first = field.offset_bits / 8, skipped = field.offset_bits % 8;
  const std::size_t bytes = (skipped + field.bits + 7) / 8;
  std::uint64_t word = 0;
  if (field.order == ByteOrder::big) {
    for (std::size_t k = 0; k < bytes; ++k)
      word = word << 8 | std::to_integer<std::uint64_t>(header[first + k]);
    word >>= 8 * bytes - skipped - field.bits;
  } else {
    for (std::size_t k = bytes; k-- > 0;)
      word = word << 8 | std::to_integer<std::uint64_t>(header[first + k]);
    word >>= skipped;
  }
  return word & low_mask(field.bits);
}

/// Does not change the other bits.
inline void write_bits(std::byte* header, const Field& field, std::uint64_t value) {
  const std::size_t first = field.offset_bits / 8, skipped = field.offset_bits % 8;
  const std::size_t bytes = (skipped + field.bits + 7) / 8;
  const bool big = field.order == ByteOrder::big;
  const std::size_t shift = big ? 8 * bytes - skipped - field.bits : skipped;
  const std::uint64_t mask = low_mask(field.bits) << shift, bits = value << shift;
  for (std::size_t k = 0; k < bytes; ++k) {
    const std::size_t place = 8 * (big ? bytes - 1 - k : k);
    std::byte& byte = header[first + k];
    byte = (byte & ~static_cast<std::byte>(mask >> place)) | static_cast<std::byte>(bits >> place);
  }
}

}  // namespace tautline::formats::packets
