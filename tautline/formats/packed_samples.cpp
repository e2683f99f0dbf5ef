#include "tautline/formats/packed_samples.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tautline::formats {

namespace {

unsigned sample_of(std::byte byte, std::size_t place, int bits, BitOrder order) {
  const int from_low = order == BitOrder::low_first ? static_cast<int>(place) * bits
                                                    : 8 - bits - static_cast<int>(place) * bits;
  return (std::to_integer<unsigned>(byte) >> from_low) & ((1U << bits) - 1);
}

// The unpacked samples of every byte: one load and one store for eight, four or two of them.
template <int Bits, BitOrder Order>
struct Table {
  static constexpr std::size_t kSamples = 8 / Bits;
  std::array<std::array<std::uint8_t, kSamples>, 256> rows{};
  Table() {
    for (std::size_t byte = 0; byte < rows.size(); ++byte)
      for (std::size_t place = 0; place < kSamples; ++place)
        rows[byte][place] =
            static_cast<std::uint8_t>(sample_of(static_cast<std::byte>(byte), place, Bits, Order));
  }
};

template <int Bits, BitOrder Order>
void unpack_bytes(std::span<const std::byte> bytes, std::uint8_t* unpacked) {
  static const Table<Bits, Order> table;
  for (std::size_t k = 0; k < bytes.size(); ++k)
    std::memcpy(unpacked + k * table.kSamples,
                table.rows[std::to_integer<std::size_t>(bytes[k])].data(), table.kSamples);
}

template <BitOrder Order>
void unpack_bytes(std::span<const std::byte> bytes, int bits, std::uint8_t* unpacked) {
  if (bits == 1) unpack_bytes<1, Order>(bytes, unpacked);
  if (bits == 2) unpack_bytes<2, Order>(bytes, unpacked);
  if (bits == 4) unpack_bytes<4, Order>(bytes, unpacked);
}

}  // namespace

void unpack_samples(std::span<const std::byte> bytes, std::size_t first, std::size_t count,
                    int bits, BitOrder order, std::uint8_t* unpacked) {
  const auto in_byte = static_cast<std::size_t>(8 / bits);
  const auto one = [&](std::size_t sample) {
    return static_cast<std::uint8_t>(
        sample_of(bytes[sample / in_byte], sample % in_byte, bits, order));
  };
  const std::size_t end = first + count;
  std::size_t sample = first;
  for (; sample < end && sample % in_byte != 0; ++sample) *unpacked++ = one(sample);
  const std::size_t whole = (end - sample) / in_byte;
  const auto middle = bytes.subspan(whole == 0 ? 0 : sample / in_byte, whole);
  if (order == BitOrder::low_first)
    unpack_bytes<BitOrder::low_first>(middle, bits, unpacked);
  else
    unpack_bytes<BitOrder::high_first>(middle, bits, unpacked);
  unpacked += whole * in_byte;
  for (sample += whole * in_byte; sample < end; ++sample) *unpacked++ = one(sample);
}

void SamplePacker::pack(std::span<const std::uint8_t> samples, std::vector<std::byte>& packed) {
  for (const std::uint8_t sample : samples) {
    byte_ |= static_cast<unsigned>(sample)
             << (order_ == BitOrder::low_first ? filled_ : 8 - bits_ - filled_);
    filled_ += bits_;
    if (filled_ < 8) continue;
    packed.push_back(static_cast<std::byte>(byte_));
    byte_ = 0;
    filled_ = 0;
  }
}

void SamplePacker::finish(std::vector<std::byte>& packed) {
  if (filled_ > 0) packed.push_back(static_cast<std::byte>(byte_));
  byte_ = 0;
  filled_ = 0;
}

}  // namespace tautline::formats
