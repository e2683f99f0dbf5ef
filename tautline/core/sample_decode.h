// Decodes the value of one sample component from its bits. Readers, unpack and the reference of
// unpack share this code.
#pragma once

#include <cstddef>
#include <cstring>

#include "tautline/core/sample_format.h"

namespace tautline::core {

/// The integer that code `code` (its low `bits` bits) stands for.
///   two's complement: 1 bit: 0 -> +1, 1 -> -1 (a sign bit); otherwise plain two's complement.
///   offset binary: 1 bit: 2c - 1; 2 bits: 2c - 3 (the odd levels -3 -1 1 3 that stand for the
///   optimal four-level quantiser's -3.34 -1 1 3.34); otherwise c - 2^(bits-1).
constexpr int decode_code(unsigned code, int bits, Encoding encoding) {
  code &= (1u << bits) - 1u;
  if (encoding == Encoding::offset_binary) {
    if (bits == 1) return 2 * static_cast<int>(code) - 1;
    if (bits == 2) return 2 * static_cast<int>(code) - 3;
    return static_cast<int>(code) - (1 << (bits - 1));
  }
  if (bits == 1) return code ? -1 : 1;
  const unsigned sign = 1u << (bits - 1);
  return static_cast<int>((code ^ sign)) - static_cast<int>(sign);
}

/// Integer component at a bit offset (little-endian, first sample in the low bits; components of
/// fewer than 8 bits never straddle a byte).
inline int decode_integer(const std::byte* bytes, std::size_t bit_offset, SampleFormat format) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes) + bit_offset / 8;
  unsigned code = p[0];
  if (format.bits == 16) code |= static_cast<unsigned>(p[1]) << 8;
  if (format.bits < 8) code >>= bit_offset % 8;
  return decode_code(code, format.bits, format.encoding);
}

/// Float component at a byte-aligned bit offset.
inline float decode_float(const std::byte* bytes, std::size_t bit_offset) {
  float value;
  std::memcpy(&value, bytes + bit_offset / 8, sizeof value);
  return value;
}

}  // namespace tautline::core
