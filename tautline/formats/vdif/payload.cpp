#include "tautline/formats/vdif/payload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tautline/core/sample_decode.h"

namespace tautline::formats::vdif {

namespace {

// One byte's components, decoded; entries beyond 8 / bits are unused.
using ByteTable = std::array<std::array<std::int8_t, 8>, 256>;

template <int bits>
constexpr ByteTable make_table() {
  ByteTable table{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned k = 0; k < 8 / bits; ++k)
      table[byte][k] = static_cast<std::int8_t>(
          core::decode_code(byte >> (k * bits), bits, core::Encoding::offset_binary));
  return table;
}

template <int bits>
void expand(const std::byte* in, std::size_t bytes, std::byte* out) {
  static constexpr ByteTable table = make_table<bits>();
  constexpr std::size_t per_byte = 8 / bits;
  for (std::size_t b = 0; b < bytes; ++b)
    std::memcpy(out + b * per_byte, table[std::to_integer<std::size_t>(in[b])].data(), per_byte);
}

void flip_offset_8(const std::byte* in, std::size_t bytes, std::byte* out) {
  for (std::size_t b = 0; b < bytes; ++b) out[b] = in[b] ^ std::byte{0x80};
}

void store(std::uint32_t code, int bits, std::byte* out) {
  if (bits <= 16) {
    const int value = core::decode_code(code, bits, core::Encoding::offset_binary);
    out[0] = static_cast<std::byte>(value & 255);
    if (bits > 8) out[1] = static_cast<std::byte>(value >> 8 & 255);
    return;
  }
  const auto value = static_cast<float>(static_cast<double>(code) - std::ldexp(1.0, bits - 1));
  std::memcpy(out, &value, sizeof value);
}

// Any number of bits and channels, component by component.
void decode_plain(const Header& header, const Packing& packing, const std::byte* words,
                  std::size_t first, std::size_t count, std::byte* rows,
                  std::size_t row_stride_bytes) {
  const std::size_t parts = header.complex ? 2 : 1;
  const auto part_bytes = static_cast<std::size_t>(delivered_format(header).bits) / 8;
  const std::size_t origin = packing.words_before(first);
  const std::uint32_t mask = header.bits == 32 ? ~0u : (1u << header.bits) - 1u;
  for (std::size_t channel = 0; channel < header.channels; ++channel) {
    std::byte* out = rows + channel * row_stride_bytes;
    for (std::size_t t = first; t < first + count; ++t)
      for (std::size_t part = 0; part < parts; ++part, out += part_bytes) {
        const std::size_t component = channel * parts + part;
        const std::uint32_t word = word_at(words, packing.word(t, component) - origin);
        store(word >> packing.bit(t, component) & mask, header.bits, out);
      }
  }
}

bool has_byte_path(const Header& header) {
  return header.channels == 1 &&
         (header.bits == 1 || header.bits == 2 || header.bits == 4 || header.bits == 8);
}

}  // namespace

core::SampleFormat delivered_format(const Header& header) {
  core::SampleFormat format;
  format.complex = header.complex;
  format.bits = header.bits <= 8 ? 8 : header.bits <= 16 ? 16 : 32;
  format.encoding =
      header.bits <= 16 ? core::Encoding::twos_complement : core::Encoding::ieee_float;
  return format;
}

void decode_samples(const Header& header, const Packing& packing, std::span<const std::byte> words,
                    std::size_t first, std::size_t count, std::byte* rows,
                    std::size_t row_stride_bytes) {
  if (!has_byte_path(header)) {
    decode_plain(header, packing, words.data(), first, count, rows, row_stride_bytes);
    return;
  }
  // Whole groups of words are copied by bytes; samples outside at either end one by one.
  const std::size_t group = packing.group_samples(), parts = header.complex ? 2 : 1;
  const std::size_t head = std::min(count, (group - first % group) % group);
  decode_plain(header, packing, words.data(), first, head, rows, row_stride_bytes);
  const std::size_t whole = (count - head) / group * group;
  const std::byte* in = words.data() + (head > 0 ? 4 * packing.group_words() : 0);
  std::byte* out = rows + head * parts;
  const std::size_t bytes = whole / group * packing.group_words() * 4;
  switch (header.bits) {
    case 1:
      expand<1>(in, bytes, out);
      break;
    case 2:
      expand<2>(in, bytes, out);
      break;
    case 4:
      expand<4>(in, bytes, out);
      break;
    default:
      flip_offset_8(in, bytes, out);
      break;
  }
  const std::size_t done = head + whole;
  decode_plain(header, packing, in + bytes, first + done, count - done, rows + done * parts,
               row_stride_bytes);
}

bool begins_with_fill(std::span<const std::byte> words) {
  std::uint32_t word = 0, swapped = 0;
  for (std::size_t k = 0; k < sizeof word; ++k) {
    word |= std::to_integer<std::uint32_t>(words[k]) << (8 * k);
    swapped |= std::to_integer<std::uint32_t>(words[k]) << (24 - 8 * k);
  }
  return word == kFillWord || swapped == kFillWord;
}

bool is_fill(std::span<const std::byte> words) {
  if (!begins_with_fill(words)) return false;
  // Each word equals the one before it.
  return std::memcmp(words.data(), words.data() + sizeof kFillWord,
                     words.size() - sizeof kFillWord) == 0;
}

}  // namespace tautline::formats::vdif
