#include "tautline/formats/packets/wire_samples.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "tautline/core/sample_decode.h"

namespace tautline::formats::packets {

namespace {

bool is_power_of_two_up_to_16(int bits) {
  return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
}

// Whether blocks hold the same codes, though perhaps in another order.
bool keeps_codes(const WireSample& sample) {
  return sample.bits == sample.container_bits &&
         (sample.encoding == core::Encoding::ieee_float || is_power_of_two_up_to_16(sample.bits));
}

// The codes of one byte in the opposite order, or bytes of one component.
void reverse_order(int bits, const std::byte* from, std::size_t components, std::byte* to) {
  if (bits >= 8) {
    const auto bytes = static_cast<std::size_t>(bits / 8);
    for (std::size_t k = 0; k < components; ++k)
      std::reverse_copy(from + k * bytes, from + (k + 1) * bytes, to + k * bytes);
    return;
  }
  const auto width = static_cast<unsigned>(bits);
  const unsigned mask = (1u << width) - 1u;
  const std::size_t bytes = components * width / 8;
  if (width == 4) {
    for (std::size_t k = 0; k < bytes; ++k) {
      const auto byte = std::to_integer<unsigned>(from[k]);
      to[k] = static_cast<std::byte>(byte << 4 | byte >> 4);
    }
    return;
  }
  for (std::size_t k = 0; k < bytes; ++k) {
    unsigned byte = std::to_integer<unsigned>(from[k]), reversed = 0;
    for (unsigned place = 0; place < 8; place += width, byte >>= width)
      reversed = reversed << width | (byte & mask);
    to[k] = static_cast<std::byte>(reversed);
  }
}

template <ByteOrder kOrder>
std::uint64_t read_word(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  constexpr bool kSame = (kOrder == ByteOrder::big) == (std::endian::native == std::endian::big);
  return kSame ? word : __builtin_bswap64(word);
}

// Calls body(component, container) for each component's bits.
template <ByteOrder kOrder, class Body>
void for_containers(std::size_t width, const std::byte* wire, std::size_t components, Body body) {
  const std::uint32_t mask = (std::uint32_t{1} << width) - 1u;
  const auto container = [width, mask](const std::byte* bytes, std::size_t skipped) {
    const std::size_t shift = kOrder == ByteOrder::big ? 64 - skipped - width : skipped;
    return static_cast<std::uint32_t>(read_word<kOrder>(bytes) >> shift) & mask;
  };
  // Out of 8 bytes from the one on that it begins in, and at the end out of a copy.
  const std::size_t bytes = components * width / 8;
  const std::size_t whole = bytes < 8 ? 0 : std::min(components, ((bytes - 8) * 8 + 7) / width + 1);
  for (std::size_t k = 0; k < whole; ++k) body(k, container(wire + k * width / 8, k * width % 8));
  for (std::size_t k = whole; k < components; ++k) {
    std::byte last[8]{};
    const std::size_t first = k * width / 8;
    std::copy_n(wire + first, std::min<std::size_t>(8, bytes - first), last);
    body(k, container(last, k * width % 8));
  }
}

// The inverse of decode_code; values out of range are clipped.
unsigned code_of(int value, int bits, core::Encoding encoding) {
  const int half = 1 << (bits - 1);
  if (encoding == core::Encoding::offset_binary) {
    if (bits <= 2)
      return static_cast<unsigned>(std::clamp((value + (1 << bits) - 1) / 2, 0, 2 * half - 1));
    return static_cast<unsigned>(std::clamp(value, -half, half - 1) + half);
  }
  if (bits == 1) return value < 0 ? 1u : 0u;
  return static_cast<unsigned>(std::clamp(value, -half, half - 1)) & ((1u << bits) - 1u);
}

template <class T>
void decode_to(const WireSample& sample, const std::byte* wire, std::size_t components,
               std::byte* placed) {
  const auto width = static_cast<std::size_t>(sample.container_bits);
  // By value: otherwise the compiler must assume that the destination may be `sample` itself.
  const auto decode = [placed, bits = sample.bits, encoding = sample.encoding](
                          std::size_t k, std::uint32_t container) {
    const T value = static_cast<T>(core::decode_code(container, bits, encoding));
    std::memcpy(placed + k * sizeof(T), &value, sizeof(T));
  };
  if (sample.order == ByteOrder::big)
    for_containers<ByteOrder::big>(width, wire, components, decode);
  else
    for_containers<ByteOrder::little>(width, wire, components, decode);
}

// value(k) is component k's.
template <class Value>
void encode_from(const WireSample& sample, Value value, std::size_t components, std::byte* wire) {
  const auto width = static_cast<unsigned>(sample.container_bits);
  const bool big = sample.order == ByteOrder::big;
  std::uint32_t waiting = 0;  // bits that fill no byte yet
  unsigned bits = 0;
  for (std::size_t k = 0; k < components; ++k) {
    const std::uint32_t code = code_of(value(k), sample.bits, sample.encoding);
    waiting = big ? waiting << width | code : waiting | code << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      *wire++ = static_cast<std::byte>(big ? waiting >> (bits - 8) : waiting);
      if (!big) waiting >>= 8;
    }
  }
}

template <class T>
void encode_integers(const WireSample& sample, const std::byte* placed, std::size_t components,
                     std::byte* wire) {
  const auto value = [placed](std::size_t k) {
    T integer;
    std::memcpy(&integer, placed + k * sizeof(T), sizeof(T));
    return static_cast<int>(integer);
  };
  encode_from(sample, value, components, wire);
}

// One component a byte, in its low bits, as receivers of the MWA's prototype send them: this vectorises.
void sign_extend(int bits, const std::byte* wire, std::size_t components, std::byte* placed) {
  const int shift = 8 - bits;
  for (std::size_t k = 0; k < components; ++k) {
    const auto shifted = static_cast<std::int8_t>(std::to_integer<unsigned>(wire[k]) << shift);
    placed[k] = static_cast<std::byte>(shifted >> shift);
  }
}

}  // namespace

core::SampleFormat WireSample::placed() const {
  if (keeps_codes(*this)) return {bits, complex, encoding};
  return {bits <= 8 ? 8 : 16, complex, core::Encoding::twos_complement};
}

bool WireSample::verbatim() const {
  return keeps_codes(*this) && (order == ByteOrder::little || bits == 8);
}

std::size_t wire_bytes(const WireSample& sample, std::size_t components) {
  return components * static_cast<std::size_t>(sample.container_bits) / 8;
}

std::size_t placed_bytes(const WireSample& sample, std::size_t components) {
  return components * static_cast<std::size_t>(sample.placed().bits) / 8;
}

void from_wire(const WireSample& sample, const std::byte* wire, std::size_t components,
               std::byte* placed) {
  if (sample.verbatim()) {
    std::memcpy(placed, wire, wire_bytes(sample, components));
  } else if (keeps_codes(sample)) {
    reverse_order(sample.bits, wire, components, placed);
  } else if (sample.container_bits == 8 && sample.bits > 1 &&
             sample.encoding == core::Encoding::twos_complement) {
    sign_extend(sample.bits, wire, components, placed);
  } else if (sample.bits <= 8) {
    decode_to<std::int8_t>(sample, wire, components, placed);
  } else {
    decode_to<std::int16_t>(sample, wire, components, placed);
  }
}

void to_wire(const WireSample& sample, const std::byte* placed, std::size_t components,
             std::byte* wire) {
  if (sample.verbatim()) {
    std::memcpy(wire, placed, wire_bytes(sample, components));
  } else if (keeps_codes(sample)) {
    reverse_order(sample.bits, placed, components, wire);
  } else if (sample.bits <= 8) {
    encode_integers<std::int8_t>(sample, placed, components, wire);
  } else {
    encode_integers<std::int16_t>(sample, placed, components, wire);
  }
}

std::size_t integers_to_wire(const WireSample& sample, std::span<const int> components,
                             std::byte* wire) {
  std::size_t clipped = 0;
  const auto value = [&](std::size_t k) {
    const int decoded = core::decode_code(code_of(components[k], sample.bits, sample.encoding),
                                          sample.bits, sample.encoding);
    clipped += decoded != components[k] ? 1 : 0;
    return components[k];
  };
  encode_from(sample, value, components.size(), wire);
  return clipped;
}

}  // namespace tautline::formats::packets
