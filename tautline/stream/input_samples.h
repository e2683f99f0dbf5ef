// Stored samples of one input in a raw block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"

namespace tautline::stream {

/// Samples of one bit are often stored in wider ones (VDIF, arrays): core::repeats_of_nothing for one bit serves all.
inline constexpr int kFewestBits = 1;

/// The block outlives this.
class InputSamples {
 public:
  InputSamples(const core::RawBlock& block, std::size_t input)
      : bytes_(block.bytes.data()),
        layout_(block.layout),
        first_bit_(layout_.offset_bits +
                   input / layout_.polarisations * layout_.antenna_stride_bits +
                   input % layout_.polarisations * layout_.polarisation_stride_bits),
        bits_(static_cast<std::size_t>(layout_.format.bits_per_sample())) {}

  /// All bits of a stored sample.
  std::uint64_t value(std::size_t t, std::size_t channel) const {
    const std::size_t bit = bit_of(t, channel);
    std::uint64_t value = 0;
    if (bits_ < 8)
      return std::to_integer<std::uint64_t>(bytes_[bit / 8]) >> bit % 8 & core::low_bits(bits_);
    switch (bits_) {
      case 8:
        return std::to_integer<std::uint64_t>(bytes_[bit / 8]);
      case 16:
        std::memcpy(&value, bytes_ + bit / 8, 2);
        return value;
      case 32:
        std::memcpy(&value, bytes_ + bit / 8, 4);
        return value;
      default:
        std::memcpy(&value, bytes_ + bit / 8, 8);
        return value;
    }
  }
  /// Brings its memory to the caches, without waiting for it.
  void fetch(std::size_t t, std::size_t channel) const {
    __builtin_prefetch(bytes_ + bit_of(t, channel) / 8);
  }
  /// Of such bits: false for floats that are not.
  bool finite(std::uint64_t value) const {
    if (!layout_.format.is_float()) return true;
    const std::uint64_t exponent = layout_.format.bits == 16 ? 0x7c00 : 0x7f800000;
    const std::size_t parts = layout_.format.complex ? 2 : 1;
    for (std::size_t part = 0; part < parts; ++part)
      if ((value >> part * (bits_ / parts) & exponent) == exponent) return false;
    return true;
  }
  /// Whether samples [first, last] are equal in all channels, where an input's samples are contiguous; else false.
  bool constant(std::size_t first, std::size_t last) const {
    if (bits_ < 8 || layout_.time_stride_bits != bits_) return false;
    for (std::size_t c = 0; c < layout_.channels; ++c) {
      const std::byte* from =
          bytes_ + (first_bit_ + first * bits_ + c * layout_.channel_stride_bits) / 8;
      if (std::memcmp(from, from + bits_ / 8, (last - first) * bits_ / 8) != 0) return false;
    }
    return true;
  }

 private:
  std::size_t bit_of(std::size_t t, std::size_t channel) const {
    return first_bit_ + t * layout_.time_stride_bits + channel * layout_.channel_stride_bits;
  }

  const std::byte* bytes_;
  core::RawLayout layout_;
  std::size_t first_bit_, bits_;
};

}  // namespace tautline::stream
