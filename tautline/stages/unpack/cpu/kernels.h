// The inner loops of unpack, one table for each instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tautline/core/sample_format.h"
#include "tautline/device/device.h"

namespace tautline::stages::unpack {

inline constexpr std::size_t kTileTimes = 64;  ///< one word of validity; a cache line of bytes
inline constexpr std::size_t kTileRows = 64;   ///< rows that one call of `turn` writes at most

/// decode_code for components of 1, 2 and 4 bits: as arithmetic, for vectors,
/// value = ((code ^ flip) << shift) + bias, and as a table of the components of each byte.
struct Decoding {
  std::uint8_t flip = 0;
  std::uint8_t shift = 0;
  std::int8_t bias = 0;
  std::array<std::uint64_t, 256> components{};  ///< as bytes in memory, first component first
};

Decoding decoding_of(const core::SampleFormat& format);

/// The sign bit that offset binary flips, in every component of eight bytes; 0: nothing to do.
std::uint64_t flip_of(const core::SampleFormat& format);

struct Kernels {
  /// kTileTimes times of `rows` neighbouring elements, times `stride_bytes` apart at `in`, become
  /// rows of time: out[r][t]. Every bit set in `flip` is inverted. When rows make fewer than 16
  /// bytes, 16 bytes are read at every time.
  using Turn = void (*)(const std::byte* in, std::size_t stride_bytes, std::size_t rows,
                        std::uint64_t flip, std::byte* const* out);
  Turn turn_1_byte, turn_2_bytes, turn_4_bytes, turn_8_bytes;

  /// `components` components of `bits` bits (1, 2 or 4), the first in the low bits, become bytes.
  void (*expand)(const std::byte* in, std::size_t components, int bits, const Decoding& decoding,
                 std::byte* out);

  /// Copies `bytes` bytes, inverting the bits of `flip` (which repeats every eight bytes).
  void (*copy_flipped)(const std::byte* in, std::size_t bytes, std::uint64_t flip, std::byte* out);

  /// Whether none of `count` floats is NaN or infinite.
  bool (*all_finite)(const float* values, std::size_t count);

  device::InstructionSet set;  ///< whose code this is

  Turn turn(std::size_t element_bytes) const {
    switch (element_bytes) {
      case 1:
        return turn_1_byte;
      case 2:
        return turn_2_bytes;
      case 4:
        return turn_4_bytes;
      default:
        return turn_8_bytes;
    }
  }
};

/// The best table that `set` can run: vnni and amx take avx512's.
const Kernels& kernels_for(device::InstructionSet set);

}  // namespace tautline::stages::unpack
