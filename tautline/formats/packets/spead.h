// SPEAD 64-48: a packet is 8 bytes, a table of items of 8 bytes each, and a part of its heap's payload. An item holds
// its value (immediate), or the place in the heap where the value is (addressed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/formats/packets/packet_layout.h"

namespace tautline::formats::packets {

inline constexpr std::size_t kSpeadWord = 8;
// Magic number, version 4, 2 bytes of an item's number and flag, 6 bytes of its value, reserved; the low 16 bits count
// the items.
inline constexpr std::uint64_t kSpead64_48 = 0x5304'0206'0000'0000;
/// No sender's heap has nearly as many items; a packet with more is refused, so that none takes long to look through.
inline constexpr std::size_t kMostSpeadItems = 256;
enum SpeadItem : std::uint32_t {
  kHeapCounter = 1,
  kHeapBytes = 2,
  kHeapOffset = 3,
  kPayloadBytes = 4
};

std::uint64_t read_big_word(const std::byte* bytes);
void append_big_word(std::uint64_t word, std::vector<std::byte>& bytes);

class SpeadPacket {
 public:
  /// Empty when items and payload are inside the packet; else the reason.
  Refusal open(std::span<const std::byte> packet);
  /// The contents of an item: `bits` of its value. None: the item is not in this packet.
  std::optional<std::uint64_t> value(std::uint32_t item, std::size_t bits) const;
  /// Where an addressed item begins in the heap.
  std::optional<std::uint64_t> address(std::uint32_t item) const;
  std::uint64_t heap_offset() const { return heap_offset_; }
  /// 0: the packet does not say.
  std::uint64_t heap_bytes() const { return heap_bytes_; }
  std::span<const std::byte> payload() const { return payload_; }

 private:
  std::optional<std::uint64_t> item(std::uint32_t number) const;

  std::span<const std::byte> table_, payload_;
  std::uint64_t heap_offset_ = 0, heap_bytes_ = 0;
};

}  // namespace tautline::formats::packets
