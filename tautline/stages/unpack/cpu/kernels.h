// The interface between the CPU plan and the kernels: a table of functions for each instruction
// set.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tautline/core/sample_format.h"
#include "tautline/device/device.h"

namespace tautline::stages::unpack {

inline constexpr std::size_t kTileTimes = 64;  ///< one word of validity; a cache line of bytes
inline constexpr std::size_t kTileRows = 64;   ///< most rows of one call of `transpose`

/// core::decode_code for components of 1, 2 and 4 bits: as arithmetic, for vectors,
/// value = ((code ^ flip) << shift) + bias, and as a table of the components of each byte.
struct Decoding {
  std::uint8_t flip = 0;
  std::uint8_t shift = 0;
  std::int8_t bias = 0;
  std::array<std::uint64_t, 256> components{};  ///< as bytes in memory, first component first
};

Decoding decoding_of(const core::SampleFormat& format);

/// The sign bits of all components in eight bytes, which offset binary flips; 0 for other
/// encodings.
std::uint64_t flip_of(const core::SampleFormat& format);

struct Kernels {
  /// Transposes kTileTimes times of `rows` neighbouring elements, `stride_bytes` apart at `in`, to
  /// rows out[r][t], and inverts the bits of `flip`. With fewer than 16 bytes of rows, 16 bytes are
  /// read at every time.
  using Transpose = void (*)(const std::byte* in, std::size_t stride_bytes, std::size_t rows,
                             std::uint64_t flip, std::byte* const* out);
  std::array<Transpose, 4> transposes;  ///< of elements of 1, 2, 4 and 8 bytes

  /// Expands `components` components of `bits` bits (1, 2 or 4), the first in the low bits, to
  /// bytes.
  void (*expand)(const std::byte* in, std::size_t components, int bits, const Decoding& decoding,
                 std::byte* out);

  /// Copies `bytes` bytes, inverting the bits of `flip` (which repeats every eight bytes).
  void (*copy_flipped)(const std::byte* in, std::size_t bytes, std::uint64_t flip, std::byte* out);

  /// Whether none of `count` floats is NaN or infinite.
  bool (*all_finite)(const float* values, std::size_t count);

  device::InstructionSet set;  ///< for which the table is compiled

  Transpose transpose(std::size_t element_bytes) const {
    return transposes[static_cast<std::size_t>(std::countr_zero(element_bytes))];
  }
};

/// The best table for `set`: vnni and amx use avx512's.
const Kernels& kernels_for(device::InstructionSet set);

}  // namespace tautline::stages::unpack
