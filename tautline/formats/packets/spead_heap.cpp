#include "tautline/formats/packets/spead_heap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "tautline/formats/packets/spead.h"

namespace tautline::formats::packets {

namespace {

// Items of a description, which is a heap in one packet inside a heap.
enum DescriptionItem : std::uint32_t {
  kDescription = 5,
  kControl = 6,
  kName = 0x10,
  kAbout = 0x11,
  kShape = 0x12,
  kFormat = 0x13,
  kNumber = 0x14,
  kNumpyHeader = 0x15
};

constexpr std::uint64_t immediate(std::uint32_t item, std::uint64_t value) {
  return std::uint64_t{1} << 63 | std::uint64_t{item} << 48 | value;
}

constexpr std::uint64_t addressed(std::uint32_t item, std::uint64_t place) {
  return std::uint64_t{item} << 48 | place;
}

void append(std::string_view text, std::vector<std::byte>& bytes) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), first, first + text.size());
}

// The packet's header and its table: its place in the heap, and further items.
void append_table(std::uint64_t heap, std::size_t heap_bytes, std::size_t offset, std::size_t bytes,
                  std::span<const std::uint64_t> items, std::vector<std::byte>& packet) {
  append_big_word(kSpead64_48 | (4 + items.size()), packet);
  append_big_word(immediate(kHeapCounter, heap), packet);
  append_big_word(immediate(kHeapBytes, heap_bytes), packet);
  append_big_word(immediate(kHeapOffset, offset), packet);
  append_big_word(immediate(kPayloadBytes, bytes), packet);
  for (const std::uint64_t item : items) append_big_word(item, packet);
}

// The shape as numpy writes it; a tuple of one number has a comma.
std::string numpy_header(const SpeadArray& array) {
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{})}}", array.type,
                     fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
}

std::vector<std::byte> description_of(const SpeadArray& array) {
  std::vector<std::byte> payload;
  std::vector<std::uint64_t> items{immediate(kNumber, array.item)};
  const auto begin = [&](std::uint32_t item) { items.push_back(addressed(item, payload.size())); };
  begin(kName);
  append(array.name, payload);
  begin(kAbout);
  append(array.about, payload);
  begin(kFormat);  // none: the header of numpy has it
  begin(kShape);
  for (const std::size_t extent : array.shape)  // a byte that says "fixed", and six of the extent
    for (int k = 6; k >= 0; --k)
      payload.push_back(static_cast<std::byte>(k == 6 ? 0 : extent >> 8 * k));
  begin(kNumpyHeader);
  append(numpy_header(array), payload);
  std::vector<std::byte> packet;
  append_table(1, payload.size(), 0, payload.size(), items, packet);
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

}  // namespace

void SpeadHeap::add(const SpeadArray& array) {
  const auto description = description_of(array);
  items_.push_back(addressed(kDescription, payload_.size()));
  payload_.insert(payload_.end(), description.begin(), description.end());
  items_.push_back(addressed(array.item, payload_.size()));
  payload_.insert(payload_.end(), array.bytes.begin(), array.bytes.end());
}

void SpeadHeap::add_control(std::uint64_t word) {
  items_.push_back(immediate(kControl, word));
}

void SpeadHeap::for_packets(
    std::size_t payload_bytes,
    const std::function<void(std::span<const std::byte> packet)>& take) const {
  std::vector<std::byte> packet;
  std::size_t at = 0;
  do {  // a heap of control alone has no payload, and a packet
    const std::size_t bytes = std::min(payload_bytes, payload_.size() - at);
    packet.clear();
    append_table(number_, payload_.size(), at, bytes,
                 at == 0 ? std::span(items_) : std::span<const std::uint64_t>{}, packet);
    const auto first = payload_.begin() + static_cast<std::ptrdiff_t>(at);
    packet.insert(packet.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
    take(packet);
    at += bytes;
  } while (at < payload_.size());
}

}  // namespace tautline::formats::packets
