// The shape and the times of a block's data, from its header, checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tautline/core/voltage.h"
#include "tautline/formats/guppi/cards.h"

namespace tautline::formats::guppi {

/// The same for every block of a recording.
struct Geometry {
  std::uint64_t data_bytes = 0;  ///< BLOCSIZE
  std::size_t antennas = 1, channels = 1, polarisations = 1;
  int bits = 8;               ///< NBITS
  std::uint64_t overlap = 0;  ///< OVERLAP, in times

  std::size_t rows() const { return antennas * channels; }
  /// Bits of one time in one row: every polarisation, re and im.
  std::size_t time_bits() const { return polarisations * 2 * static_cast<std::size_t>(bits); }
  std::uint64_t row_bytes() const { return data_bytes / rows(); }
  std::uint64_t times() const { return row_bytes() * 8 / time_bits(); }
  std::uint64_t block_samples() const { return times() * antennas * polarisations; }
  /// Times that the next block does not repeat.
  std::uint64_t new_times() const { return times() - overlap; }
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

/// Throws Error(format) that names the card.
Geometry read_geometry(const Cards& cards);

/// The samples of one step of PKTIDX, as a ratio.
struct PacketUnit {
  std::uint64_t numerator = 0, denominator = 1;
  std::uint64_t samples(std::uint64_t packets) const;
};

/// From PIPERBLK or PKTSIZE when the first blocks' PKTIDX agree with it, else from how PKTIDX
/// steps. None when there is no PKTIDX to go by.
std::optional<PacketUnit> find_packet_unit(const InputFile& file, const Cards& first,
                                           const Geometry& geometry);

/// Rate, frequencies, names and the time of the first block's first sample.
core::VoltageDescription describe(const Cards& first, const Geometry& geometry,
                                  const std::optional<PacketUnit>& unit);

inline constexpr std::int64_t kMaxPacketIndex = std::int64_t{1} << 60;

}  // namespace tautline::formats::guppi
