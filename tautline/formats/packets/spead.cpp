#include "tautline/formats/packets/spead.h"

#include "tautline/formats/packets/bits.h"

namespace tautline::formats::packets {

namespace {

constexpr std::size_t kValueBits = 48;
constexpr std::uint64_t kImmediate = std::uint64_t{1} << 63;

constexpr std::uint32_t number_of(std::uint64_t item) {
  return static_cast<std::uint32_t>(item >> kValueBits & 0x7fff);
}

}  // namespace

std::uint64_t read_big_word(const std::byte* bytes) {
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < kSpeadWord; ++k)
    word = word << 8 | std::to_integer<std::uint64_t>(bytes[k]);
  return word;
}

void append_big_word(std::uint64_t word, std::vector<std::byte>& bytes) {
  for (std::size_t k = kSpeadWord; k-- > 0;) bytes.push_back(static_cast<std::byte>(word >> 8 * k));
}

Refusal SpeadPacket::open(std::span<const std::byte> packet) {
  if (packet.size() < kSpeadWord) return Refusal::too_short;
  const std::uint64_t header = read_big_word(packet.data());
  if ((header & ~std::uint64_t{0xffff}) != kSpead64_48) return Refusal::wrong_constant;
  const auto items = static_cast<std::size_t>(header & 0xffff);
  if (items > kMostSpeadItems) return Refusal::out_of_range;
  if (packet.size() < kSpeadWord * (1 + items)) return Refusal::too_short;
  table_ = packet.subspan(kSpeadWord, kSpeadWord * items);
  payload_ = packet.subspan(kSpeadWord * (1 + items));
  const auto length = item(kPayloadBytes), offset = item(kHeapOffset), bytes = item(kHeapBytes);
  if (!length || !offset) return Refusal::missing_item;
  heap_offset_ = *offset & low_mask(kValueBits);
  heap_bytes_ = bytes ? *bytes & low_mask(kValueBits) : 0;
  if ((*length & low_mask(kValueBits)) != payload_.size()) return Refusal::wrong_payload_size;
  if (heap_bytes_ != 0 && heap_offset_ + payload_.size() > heap_bytes_)
    return Refusal::wrong_offset;
  return Refusal::none;
}

std::optional<std::uint64_t> SpeadPacket::item(std::uint32_t number) const {
  for (std::size_t at = 0; at < table_.size(); at += kSpeadWord) {
    const std::uint64_t word = read_big_word(table_.data() + at);
    if (number_of(word) == number) return word;
  }
  return {};
}

std::optional<std::uint64_t> SpeadPacket::value(std::uint32_t number, std::size_t bits) const {
  const auto found = item(number);
  if (!found) return {};
  if ((*found & kImmediate) != 0) return *found & low_mask(bits);
  const std::uint64_t at = *found & low_mask(kValueBits);
  const std::size_t bytes = (bits + 7) / 8;
  if (at < heap_offset_ || at - heap_offset_ > payload_.size() ||
      payload_.size() - (at - heap_offset_) < bytes)
    return {};
  Field field;
  field.bits = bits;
  field.offset_bits = 8 * bytes - bits;
  return read_bits(payload_.data() + (at - heap_offset_), field);
}

std::optional<std::uint64_t> SpeadPacket::address(std::uint32_t number) const {
  const auto found = item(number);
  if (!found || (*found & kImmediate) != 0) return {};
  return *found & low_mask(kValueBits);
}

}  // namespace tautline::formats::packets
