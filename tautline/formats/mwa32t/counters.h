// Finding records by their counters: the only structure that the stream has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tautline/formats/mwa32t/mwa32t.h"

namespace tautline::formats::mwa32t {

inline constexpr std::size_t kCounterPeriod = 65536;

/// A counter that steps back by at most this much (3.2 ms) repeats old records; a larger step back
/// is a gap across the wrap.
inline constexpr std::size_t kMaxBackstep = 4096;

/// Records with consecutive counters that prove an alignment: few at the record boundary that was
/// kept so far, many at any other, because samples that ramp count too (up to 32 in 5 bits).
inline constexpr std::size_t kAlignedProof = 8;
inline constexpr std::size_t kUnalignedProof = 64;
/// The fewest, at the record boundary that was kept so far, where the bytes end.
inline constexpr std::size_t kLeastProof = 2;

inline std::uint16_t counter_at(const std::byte* record) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(record[0]) |
                                    std::to_integer<unsigned>(record[1]) << 8);
}

/// Number of records from the first byte on, at most `limit`, whose counters go up by one.
std::size_t consecutive_records(std::span<const std::byte> bytes, std::size_t record,
                                std::size_t limit);

/// The first offset where counters prove an alignment. An offset counts as aligned when it lies a
/// whole number of records after a boundary `phase` bytes before the first byte. At the end of the
/// file (`last`) the records that are left may be fewer than the proof asks for, down to
/// `least_aligned` or, unaligned, kAlignedProof. None: no such offset in `bytes`.
std::optional<std::size_t> find_alignment(std::span<const std::byte> bytes, std::size_t record,
                                          std::size_t phase, bool last, std::size_t least_aligned);

/// Where the last alignment in `bytes`, which begin at a record boundary, ends; 0: there is none.
std::size_t end_of_records(std::span<const std::byte> bytes, std::size_t record, bool last);

struct Detected {
  Mode mode;
  std::size_t offset;  ///< of the first record that is part of a proof
};

/// The first records of a file, of that mode: half of a short file's prove it.
std::optional<std::size_t> find_first(std::span<const std::byte> bytes, Mode mode, bool last);

/// The mode whose records start first in `bytes`, or none.
std::optional<Detected> detect_mode(std::span<const std::byte> bytes, bool last);

}  // namespace tautline::formats::mwa32t
