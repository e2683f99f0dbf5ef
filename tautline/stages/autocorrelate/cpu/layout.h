// Memory layout of the CPU autocorrelator: tiles of pairs.
//
// A tile is 16 pairs in the lanes of vectors, or one pair whose consecutive times fill the lanes.
// Each level has a block of samples and, before it, the history that its lags reach back to. A full
// block is multiplied at all lags of the level and summed in pairs into the next level's block; its
// end becomes the new history. Sums are integers, so the split of a stream into calls does not
// change a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::cpu {

inline constexpr std::size_t kLanes = 16;

/// Memory format of a level's samples. Each 32-bit lane has four bytes, two halves or one word of
/// consecutive times; longs and doubles are [time][lane].
enum class Storage : std::uint8_t { bytes, halves, words, longs, doubles };

constexpr std::size_t bytes_of(Storage storage) {
  switch (storage) {
    case Storage::bytes:
      return 1;
    case Storage::halves:
      return 2;
    case Storage::words:
      return 4;
    default:
      return 8;
  }
}

/// Consecutive times of one lane in the 32 bits of the lane.
constexpr std::size_t group_of(Storage storage) {
  return bytes_of(storage) < 4 ? 4 / bytes_of(storage) : 1;
}

/// Index of sample t of a lane.
constexpr std::size_t place_of(Storage storage, std::size_t lanes, std::size_t t,
                               std::size_t lane) {
  const std::size_t group = group_of(storage);
  return (t / group * lanes + lane) * group + t % group;
}

/// One level, and its places in a tile's memory in bytes from the tile's start.
struct Level {
  LagRange range;
  Storage storage = Storage::words;
  /// Whether the delayed series has memory of its own. Otherwise it is the direct series, later.
  bool separate = false;
  /// Distance in memory from a direct sample back to the delayed one at the smallest lag: the
  /// smallest k, plus base / window where the delayed series is the direct one.
  std::size_t first = 0;
  std::size_t delay = 0;       ///< lag of the next level's delayed series, in this level's samples
  std::size_t history = 0;     ///< samples
  std::size_t delayed_at = 0;  ///< history, then a block
  std::size_t direct_at = 0;   ///< a block; the delayed series' block if not separate
  std::size_t sums_at = 0;     ///< [steps][lane] of 8 bytes
  std::size_t heads_at = 0;    ///< [steps + 1][lane]: sum of d below whole + k, k from first - 1 on
  std::size_t totals_at = 0;   ///< [direct, delayed, lead-in][lane]
};

/// State of one level. A tile begins with one for each level.
struct Progress {
  std::uint64_t done = 0;     ///< samples multiplied
  std::uint64_t pending = 0;  ///< samples in the block that are not multiplied yet
  std::uint64_t largest = 0;  ///< largest delayed sample so far
  std::uint64_t recent = 0;   ///< largest delayed sample of the previous block
  std::uint64_t refused = 0;  ///< 1 once a sum could have reached 2^63
};

struct Layout {
  Config config;
  std::size_t lanes = kLanes;  ///< pairs in a tile: 16, or 1
  std::size_t block = 0;       ///< samples
  std::vector<Level> levels;
  std::size_t tile_bytes = 0;
  std::size_t scratch_bytes = 0;  ///< for each worker
  std::size_t tiles() const { return (config.pair_count() + lanes - 1) / lanes; }
};

/// Tiles of 64 neighbouring sensors, which share the cache lines of a row of bytes. They are
/// processed together.
inline constexpr std::size_t kTilesTogether = 4;
inline constexpr std::size_t kSensorsTogether = kTilesTogether * kLanes;

/// The sensor, of the 64 of four tiles, in one lane of one tile, where rows are interleaved 64
/// bytes at a time: the instructions interleave within 16 bytes.
constexpr std::size_t interleaved_sensor(std::size_t tile, std::size_t lane) {
  return lane / 4 * 16 + tile * 4 + lane % 4;
}

/// Throws Error(config) on bad tunables. `bytes`: whether the kernels multiply bytes. The layout
/// has the levels from `first_level` on.
Layout make_layout(const Config& config, const Tunables& tunables, bool bytes,
                   std::size_t first_level = 0);

}  // namespace tautline::stages::autocorrelate::cpu
