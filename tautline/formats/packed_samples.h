// Samples of 1, 2 and 4 bits in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tautline::formats {

/// Which end of a byte holds its first sample: sigproc the low one, PSRFITS the high one.
enum class BitOrder { low_first, high_first };

/// Unpacks `count` samples of 1, 2 or 4 bits, from sample `first` of `bytes` on, one a byte.
void unpack_samples(std::span<const std::byte> bytes, std::size_t first, std::size_t count,
                    int bits, BitOrder order, std::uint8_t* unpacked);

/// Packs samples in order; samples that do not fill a byte wait for the next ones.
class SamplePacker {
 public:
  SamplePacker(int bits, BitOrder order) : bits_(bits), order_(order) {}
  /// Appends whole bytes to `packed`. Values are below 2^bits.
  void pack(std::span<const std::uint8_t> samples, std::vector<std::byte>& packed);
  /// The last byte, its unused bits zero, where one is begun.
  void finish(std::vector<std::byte>& packed);

 private:
  int bits_, filled_ = 0;
  BitOrder order_;
  unsigned byte_ = 0;
};

}  // namespace tautline::formats
