// The layout of a telescope's packets, as data: the place and the meaning of each field of a header, and the axes of
// the payload. Layouts are read from TOML (docs/design/live.md); this code knows nothing of sockets.
//
// A payload holds `axes`, slowest first, of samples: of times, and of the channels, antennas and polarisations that
// follow the first ones, which the header names. It comes in one packet, or in `parts` packets of equal length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/core/sample_format.h"
#include "tautline/core/time.h"

namespace tautline::formats::packets {

/// Of fields that take several bytes, and of samples in bytes. A field's offset counts bits from the packet's first
/// byte on: `big` from each byte's highest bit, `little` from its lowest.
enum class ByteOrder { big, little };

/// The meaning of a field of the header.
enum class Meaning {
  constant,       ///< is `value` in every packet of the layout
  counter,        ///< time of the payload's first sample, in counts; or within the second
  seconds,        ///< whole seconds, to which the counter is added
  half_years,     ///< since 2000-01-01, in UTC, from which the seconds count
  antenna,        ///< of the payload's first
  channel,        ///< of the payload's first
  polarisation,   ///< of the payload's first
  input,          ///< antenna x polarisations + polarisation, of the payload's first
  sub_array,      ///< whose packets these are, where several share a network
  heap_offset,    ///< bytes of the payload in other packets before this one's
  heap_bytes,     ///< of the whole payload
  payload_bytes,  ///< of this packet's part of it
  invalid         ///< not 0: the sender says that the samples are none
};

/// A field's value is scale x (its bits as a number) + add.
struct Field {
  std::string name;
  Meaning meaning = Meaning::constant;
  bool from_source =
      false;  ///< not in the packet: the number of the connection or port that it came from
  std::optional<std::uint32_t> item;  ///< SPEAD: an item's value; else:
  std::size_t offset_bits = 0;
  std::size_t bits = 0;
  ByteOrder order = ByteOrder::big;
  std::uint64_t value =
      0;  ///< of a constant, and the value that senders write where they know no other
  std::int64_t scale = 1;
  std::int64_t add = 0;
};

enum class AxisName { time, channel, antenna, polarisation };
inline constexpr std::size_t kAxes = 4;

struct Axis {
  AxisName name = AxisName::time;
  std::size_t extent = 1;
};

/// How a payload codes samples.
struct WireSample {
  int bits = 8;            ///< of a component, in the low bits of its container
  int container_bits = 8;  ///< that a component takes
  bool complex = true;     ///< re and im, a container each
  core::Encoding encoding = core::Encoding::twos_complement;
  /// big: the first component is in the highest bits, and the high byte comes first.
  ByteOrder order = ByteOrder::little;

  std::size_t bits_per_sample() const {
    return static_cast<std::size_t>(container_bits) * (complex ? 2 : 1);
  }
  /// The format of samples in blocks: the same bits where `unpack` understands them, else ci4, 8 or 16 bits.
  core::SampleFormat placed() const;
  /// Whether bytes are placed as they come.
  bool verbatim() const;
};

struct PacketLayout {
  std::string name;
  std::string about;  ///< a line for people
  /// SPEAD 64-48: items in a table, then the payload. `header_bytes` is then of no use.
  bool spead = false;
  std::uint32_t payload_item = 0;  ///< SPEAD's
  std::size_t header_bytes = 0;
  std::vector<Field> fields;
  std::vector<Axis> axes;
  WireSample sample;
  std::size_t parts = 1;     ///< packets that carry one payload
  std::uint64_t step = 1;    ///< counts from a payload of one source to its next
  std::uint64_t period = 0;  ///< of counts, behind which they begin again; 0: 2^64
  core::Rational rate_hz{};  ///< samples a second of one channel; 0/1: the layout does not say
  std::optional<core::Instant> zero;  ///< when the count was 0, where counts are absolute

  std::size_t extent(AxisName axis) const;  ///< in a payload
  std::size_t samples() const { return extent(AxisName::time); }
  std::size_t payload_bytes() const;  ///< of a whole payload
  std::size_t part_bytes() const { return payload_bytes() / parts; }
  const Field* field(Meaning meaning) const;  ///< null: there is none
  /// Counts a second, rate_hz x step / samples; 0/1 without a rate.
  core::Rational counts_hz() const;
};

/// The layout of a preset's name, or of a file where the text has a dot or a slash. Throws Error(config) with the
/// presets' names, Error(io), or Error(format) that names file, table, field and line.
PacketLayout read_layout(const std::string& preset_or_path);
/// The same for text in memory; `name` stands for the file in messages.
PacketLayout parse_layout(std::string_view text, const std::string& name);
/// Names of the layouts that ship, and their text; empty text: there is no such preset.
const std::vector<std::string_view>& preset_names();
std::string_view preset_text(std::string_view name);

/// The contents of a packet's header.
struct PacketHeader {
  std::uint64_t count = 0;  ///< of the payload's first sample, modulo the layout's period
  std::uint64_t antenna = 0, channel = 0, polarisation = 0;  ///< of the payload's first
  std::uint64_t input = 0;  ///< of layouts that number inputs, not antennas and polarisations
  std::uint64_t sub_array = 0;
  std::size_t part = 0;  ///< which of the payload's packets
  bool invalid = false;
  std::span<const std::byte> payload;  ///< inside the packet's bytes
};

/// Why bytes are no packet of a layout.
enum class Refusal : std::uint8_t {
  none,
  too_short,           ///< ends inside its header
  wrong_length,        ///< is longer or shorter than header and payload
  wrong_constant,      ///< a constant has another value
  wrong_payload_size,  ///< a length in the header is none that the layout or the packet has
  wrong_offset,        ///< the payload's place in its heap is none of a part
  missing_item,        ///< SPEAD: an item that the layout reads is not there
  no_payload,          ///< SPEAD: carries descriptors or stream control alone
  out_of_range,        ///< a field has a value that nothing can have
  between_steps  ///< the count is none of a payload's: a whole number of steps from the others'
};
inline constexpr std::size_t kRefusals = 10;
std::string_view to_string(Refusal refusal);

/// Reads a packet's header and never outside `packet`. `source` is the number of its connection or port.
Refusal decode(const PacketLayout& layout, std::span<const std::byte> packet, std::uint64_t source,
               PacketHeader& header);

/// The packet with this header (its count modulo the period) and payload (part_bytes of it). Throws Error(config)
/// that names a field whose value does not fit its bits.
void encode(const PacketLayout& layout, const PacketHeader& header, std::vector<std::byte>& packet);

/// The instant of a count, where the layout says when counts began.
std::optional<core::Instant> instant_of(const PacketLayout& layout, std::uint64_t count);
/// The nearest count at an instant; none where the layout does not say when counts began, or they began later.
std::optional<std::uint64_t> count_at(const PacketLayout& layout, const core::Instant& instant);

}  // namespace tautline::formats::packets
