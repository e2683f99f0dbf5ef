#include <algorithm>

#include "tautline/formats/packets/bits.h"
#include "tautline/formats/packets/half_years.h"
#include "tautline/formats/packets/packet_layout.h"
#include "tautline/formats/packets/spead.h"

namespace tautline::formats::packets {

namespace {

__extension__ using Wide = unsigned __int128;

// The values of the fields of one packet, before they are combined.
struct Said {
  std::uint64_t counter = 0, seconds = 0, half_years = 0;
  bool has_seconds = false;
  std::uint64_t heap_offset = 0;
};

// Combines the fields to a count: the count of `seconds`, rounded half up, plus `counter`, modulo the period.
Refusal put_count_together(const PacketLayout& layout, const Said& said, PacketHeader& header) {
  if (!said.has_seconds) {
    header.count = said.counter;
    return Refusal::none;
  }
  const core::Rational rate = layout.counts_hz();
  const auto numerator = static_cast<std::uint64_t>(rate.numerator);
  const auto denominator = static_cast<std::uint64_t>(rate.denominator);
  // Some senders count from 0 again a little after the second begins (half a count, or in odd seconds), so the counter
  // may pass the counts of a second by one step.
  if (said.counter > numerator / denominator + layout.step) return Refusal::out_of_range;
  if (said.half_years >= kHalfYears) return Refusal::out_of_range;
  const Wide seconds =
      Wide{said.seconds} + static_cast<std::uint64_t>(half_year_s(said.half_years));
  const Wide count = (seconds * numerator + denominator / 2) / denominator + said.counter;
  header.count = static_cast<std::uint64_t>(layout.period == 0 ? count : count % layout.period);
  return Refusal::none;
}

Refusal take(const PacketLayout& layout, const Field& field, std::uint64_t bits,
             std::size_t payload_bytes, Said& said, PacketHeader& header) {
  if (field.meaning == Meaning::constant)
    return bits == field.value ? Refusal::none : Refusal::wrong_constant;
  const std::uint64_t value =
      bits * static_cast<std::uint64_t>(field.scale) + static_cast<std::uint64_t>(field.add);
  switch (field.meaning) {
    case Meaning::constant:
      break;
    case Meaning::counter:
      said.counter = value;
      break;
    case Meaning::seconds:
      said.seconds = value;
      said.has_seconds = true;
      break;
    case Meaning::half_years:
      said.half_years = value;
      break;
    case Meaning::antenna:
      header.antenna = value;
      break;
    case Meaning::channel:
      header.channel = value;
      break;
    case Meaning::polarisation:
      header.polarisation = value;
      break;
    case Meaning::input:
      header.input = value;
      break;
    case Meaning::sub_array:
      header.sub_array = value;
      break;
    case Meaning::invalid:
      header.invalid = value != 0;
      break;
    case Meaning::heap_offset:
      said.heap_offset = value;
      break;
    case Meaning::heap_bytes:
      if (value != layout.payload_bytes()) return Refusal::wrong_payload_size;
      break;
    case Meaning::payload_bytes:
      if (value != payload_bytes) return Refusal::wrong_payload_size;
      break;
  }
  return Refusal::none;
}

Refusal decode_fixed(const PacketLayout& layout, std::span<const std::byte> packet,
                     std::uint64_t source, PacketHeader& header) {
  const std::size_t part_bytes = layout.part_bytes();
  if (packet.size() < layout.header_bytes) return Refusal::too_short;
  if (packet.size() - layout.header_bytes != part_bytes) return Refusal::wrong_length;
  Said said;
  for (const Field& field : layout.fields) {
    const std::uint64_t bits = field.from_source ? source : read_bits(packet.data(), field);
    const Refusal refusal = take(layout, field, bits, part_bytes, said, header);
    if (refusal != Refusal::none) return refusal;
  }
  if (said.heap_offset % part_bytes != 0 || said.heap_offset / part_bytes >= layout.parts)
    return Refusal::wrong_offset;
  header.part = static_cast<std::size_t>(said.heap_offset / part_bytes);
  header.payload = packet.subspan(layout.header_bytes);
  return put_count_together(layout, said, header);
}

// The place of the packet's part of the payload item.
Refusal find_spead_payload(const PacketLayout& layout, const SpeadPacket& packet,
                           std::uint64_t begin, PacketHeader& header) {
  const std::uint64_t offset = packet.heap_offset();
  const std::size_t part_bytes = layout.part_bytes();
  const std::uint64_t end = offset + packet.payload().size();
  if (packet.heap_bytes() != 0 &&
      (begin > packet.heap_bytes() || packet.heap_bytes() - begin < layout.payload_bytes()))
    return Refusal::wrong_payload_size;
  if (layout.parts == 1) {
    if (begin < offset || begin > end || end - begin < part_bytes) return Refusal::wrong_offset;
    header.payload = packet.payload().subspan(static_cast<std::size_t>(begin - offset), part_bytes);
    return Refusal::none;
  }
  if (packet.payload().size() != part_bytes) return Refusal::wrong_payload_size;
  if (offset < begin || (offset - begin) % part_bytes != 0 ||
      (offset - begin) / part_bytes >= layout.parts)
    return Refusal::wrong_offset;
  header.part = static_cast<std::size_t>((offset - begin) / part_bytes);
  header.payload = packet.payload();
  return Refusal::none;
}

Refusal decode_spead(const PacketLayout& layout, std::span<const std::byte> bytes,
                     std::uint64_t source, PacketHeader& header) {
  SpeadPacket packet;
  Refusal refusal = packet.open(bytes);
  if (refusal != Refusal::none) return refusal;
  const auto begin = packet.address(layout.payload_item);
  if (!begin) return Refusal::no_payload;
  Said said;
  for (const Field& field : layout.fields) {
    const auto bits = field.from_source ? source : packet.value(*field.item, field.bits);
    if (!bits) return Refusal::missing_item;
    refusal = take(layout, field, *bits, packet.payload().size(), said, header);
    if (refusal != Refusal::none) return refusal;
  }
  refusal = find_spead_payload(layout, packet, *begin, header);
  return refusal != Refusal::none ? refusal : put_count_together(layout, said, header);
}

}  // namespace

Refusal decode(const PacketLayout& layout, std::span<const std::byte> packet, std::uint64_t source,
               PacketHeader& header) {
  header = {};
  return layout.spead ? decode_spead(layout, packet, source, header)
                      : decode_fixed(layout, packet, source, header);
}

}  // namespace tautline::formats::packets
