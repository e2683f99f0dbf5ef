// The inner loops of dedisperse, one table for each instruction set and pair of types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/device/device.h"

namespace tautline::stages::dedisperse {

/// The number of times of a tile is a multiple of this: of the times that the widest vectors sum in
/// one pass.
inline constexpr std::size_t kGranule = 512;

/// scratch[to ...] = a + b over `length` times or, where c is not kNone, (a + b) + (c + d): floats
/// are rounded as in two steps. Two operands are in rows of the input (their channels' positions
/// given) or in scratch (kScratch), four in scratch. Where channel_b is kNone a is widened.
struct Add {
  static constexpr std::uint32_t kScratch = 0xffffffff, kNone = 0xfffffffe;
  std::uint32_t to, length, a, b, channel_a, channel_b;
  std::uint32_t c = kNone, d = kNone;
};

/// The memory of a list of Adds.
struct AddPlaces {
  const void* rows;        ///< position 0 at the tile's first time
  std::size_t row_stride;  ///< elements between positions
  void* scratch;
  std::size_t less;  ///< times that this tile is shorter than a full one
};

/// The bits that 16-bit sums keep when their higher bits are carried: then as many bytes as to
/// zero, but one, can be added again.
inline constexpr int kKeptBits = 8;

/// Kernels may read, but do not use, this many elements after the last one of a trial.
inline constexpr std::size_t kPlacesAhead = 4;

/// One trial of a tile: the sum of `count` rows that begin at base + k stride + places[k].
struct Accumulate {
  const void* base;
  std::size_t stride;
  const std::uint32_t* places;
  std::size_t count;
  void* sums;     ///< of the groups so far, in an order of the kernel's own
  void* carries;  ///< bits of 16-bit sums beyond kKeptBits, in the same order and type
  bool start;     ///< there are no sums
  bool carried;   ///< there are carries
  bool carry;     ///< afterwards bits of sums beyond kKeptBits are added to the carries
  void* out;      ///< int32 or float: takes sums and carries, which then begin again; null: not yet
  bool out_start;  ///< overwrite `out`, less `offset`; else add
  bool stream;     ///< overwrite `out` past the caches; the caller calls FlushStream
  std::int32_t offset;
  std::size_t times;    ///< to compute, a multiple of kGranule
  std::size_t written;  ///< times that `out` has room for
};

struct Kernels {
  void (*add)(const Add* adds, std::size_t count, const AddPlaces& places);
  void (*accumulate_rows)(const Accumulate& work);     ///< of the input
  void (*accumulate_scratch)(const Accumulate& work);  ///< of sums made by `add`
  std::size_t row_bytes, sum_bytes;                    ///< of an element
  device::InstructionSet set;                          ///< whose code this is
};

/// The types of rows and partial sums. 16-bit sums take as many channels as cannot overflow them.
enum class Types { u8_u16, u16_u16, u16_u32, i32_i32, f32_f32 };

/// The best table that `set` can run: vnni and amx take avx512's.
const Kernels& kernels_for(device::InstructionSet set, Types types);

/// kCornerTurnTimes spectra to rows: `bytes` (1, 2 or 4) an element; out[c] is the row of channel c. Each row takes
/// some cache lines side by side: of bytes of 1,024 channels, 64 or 128 times take a quarter longer on Zen 4.
inline constexpr std::size_t kCornerTurnTimes = 256;
using CornerTurn = void (*)(const std::byte* spectra, std::size_t stride_bytes,
                            std::size_t channels, std::byte* const* out);
CornerTurn corner_turn_for(device::InstructionSet set, std::size_t bytes);

}  // namespace tautline::stages::dedisperse
