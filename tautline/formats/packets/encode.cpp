#include <fmt/format.h>

#include "tautline/core/error.h"
#include "tautline/formats/packets/bits.h"
#include "tautline/formats/packets/half_years.h"
#include "tautline/formats/packets/packet_layout.h"
#include "tautline/formats/packets/spead.h"

namespace tautline::formats::packets {

namespace {

__extension__ using Wide = unsigned __int128;

struct Clock {
  std::uint64_t counter = 0, seconds = 0, half_years = 0;
};

// The inverse of the decoding of a count.
Clock clock_of_count(const PacketLayout& layout, std::uint64_t count) {
  if (layout.field(Meaning::seconds) == nullptr) return {count, 0, 0};
  const core::Rational rate = layout.counts_hz();
  const auto numerator = static_cast<std::uint64_t>(rate.numerator);
  const auto denominator = static_cast<std::uint64_t>(rate.denominator);
  const auto count_of = [&](std::uint64_t seconds) {
    return static_cast<std::uint64_t>((Wide{seconds} * numerator + denominator / 2) / denominator);
  };
  auto seconds = static_cast<std::uint64_t>(Wide{count} * denominator / numerator);
  while (count_of(seconds + 1) <= count) ++seconds;
  while (seconds > 0 && count_of(seconds) > count) --seconds;
  Clock clock{count - count_of(seconds), seconds, 0};
  if (layout.field(Meaning::half_years) != nullptr) {
    clock.half_years = half_year_at(static_cast<std::int64_t>(seconds));
    clock.seconds -= static_cast<std::uint64_t>(half_year_s(clock.half_years));
  }
  return clock;
}

std::uint64_t value_of(const PacketLayout& layout, const Field& field, const Clock& clock,
                       const PacketHeader& header) {
  switch (field.meaning) {
    case Meaning::constant:
      return field.value;
    case Meaning::counter:
      return clock.counter;
    case Meaning::seconds:
      return clock.seconds;
    case Meaning::half_years:
      return clock.half_years;
    case Meaning::antenna:
      return header.antenna;
    case Meaning::channel:
      return header.channel;
    case Meaning::polarisation:
      return header.polarisation;
    case Meaning::input:
      return header.input;
    case Meaning::sub_array:
      return header.sub_array;
    case Meaning::heap_offset:
      return header.part * layout.part_bytes();
    case Meaning::heap_bytes:
      return layout.payload_bytes();
    case Meaning::payload_bytes:
      return layout.part_bytes();
    case Meaning::invalid:
      return header.invalid ? 1 : 0;
  }
  return 0;
}

std::uint64_t bits_of(const PacketLayout& layout, const Field& field, const Clock& clock,
                      const PacketHeader& header) {
  const std::uint64_t value = value_of(layout, field, clock, header);
  if (field.meaning == Meaning::constant) return value;
  const std::uint64_t scaled = value - static_cast<std::uint64_t>(field.add);
  const auto scale = static_cast<std::uint64_t>(field.scale);
  if (scaled % scale != 0 || (scaled / scale & ~low_mask(field.bits)) != 0)
    throw core::Error(
        core::ErrorKind::config, field.name, fmt::format("{}", value),
        fmt::format("{} x a number of {} bits, + {}", field.scale, field.bits, field.add),
        "choose another layout");
  return scaled / scale;
}

constexpr std::uint64_t kImmediateItem = std::uint64_t{1} << 63;

std::uint64_t spead_item(std::uint32_t number, std::uint64_t value) {
  return std::uint64_t{number} << 48 | value;
}

void encode_spead(const PacketLayout& layout, const Clock& clock, const PacketHeader& header,
                  std::vector<std::byte>& packet) {
  std::uint64_t items = 5, heap = clock.counter / layout.step;
  for (const Field& field : layout.fields) {
    if (field.from_source) continue;
    ++items;
    // Heaps of one time have another number for each antenna and channel.
    if (field.meaning != Meaning::counter)
      heap = heap * 1009 + value_of(layout, field, clock, header);
  }
  append_big_word(kSpead64_48 | items, packet);
  const auto immediate = [&](std::uint32_t number, std::uint64_t value) {
    append_big_word(kImmediateItem | spead_item(number, value), packet);
  };
  immediate(kHeapCounter, heap & low_mask(48));
  immediate(kHeapBytes, layout.payload_bytes());
  immediate(kHeapOffset, header.part * layout.part_bytes());
  immediate(kPayloadBytes, layout.part_bytes());
  for (const Field& field : layout.fields)
    if (!field.from_source) immediate(*field.item, bits_of(layout, field, clock, header));
  append_big_word(spead_item(layout.payload_item, 0), packet);
}

}  // namespace

void encode(const PacketLayout& layout, const PacketHeader& header,
            std::vector<std::byte>& packet) {
  if (header.payload.size() != layout.part_bytes())
    throw core::Error(core::ErrorKind::config, "payload",
                      fmt::format("{} bytes", header.payload.size()),
                      fmt::format("{}", layout.part_bytes()));
  const Clock clock =
      clock_of_count(layout, layout.period == 0 ? header.count : header.count % layout.period);
  packet.clear();
  if (layout.spead) {
    encode_spead(layout, clock, header, packet);
  } else {
    packet.resize(layout.header_bytes);
    for (const Field& field : layout.fields)
      if (!field.from_source)
        write_bits(packet.data(), field, bits_of(layout, field, clock, header));
  }
  packet.insert(packet.end(), header.payload.begin(), header.payload.end());
}

}  // namespace tautline::formats::packets
