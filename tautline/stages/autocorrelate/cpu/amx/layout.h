// The first levels on a CPU with matrix units (AMX): memory of a group of 64 sensors.
//
// Levels are processed in pairs, 0 and 1, 2 and 3, ... Both levels of a pair are computed from the
// rows of the even level: planes of low and high bytes, [time][64 sensors]. Four rows become one
// row of the next pair. Four rows of the last pair become one sample of the tiles (cpu/layout.h),
// which have the later levels. How matrix products give the lags: docs/maths/autocorrelate.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/autocorrelate/cpu/layout.h"

namespace tautline::stages::autocorrelate::cpu {

inline constexpr std::size_t kGroupSensors = 64;
inline constexpr std::size_t kGroupTiles = kGroupSensors / kLanes;
/// Rows before a block that the lags of both levels reach back to, and first rows of a run that are
/// kept for the monitors.
inline constexpr std::size_t kAmxHistory = 128;
/// Rows of one matrix product: 4 quarters of 16 x 16.
inline constexpr std::size_t kAmxStep = 1024;
/// Most matrices of products, at lags 16 apart: they cover the lags 0 to 96.
inline constexpr std::size_t kAmxShifts = 7;
inline constexpr std::size_t kMaxLevelPairs = 4;
/// Sums of a sensor at one level: room for the lags of any config that amx_fits.
inline constexpr std::size_t kAmxLags = 48;

/// One pair of levels, and its places in a group's memory in bytes from the group's start.
struct LevelPair {
  std::array<LagRange, 2> ranges;
  bool second = true;          ///< whether the config has the odd level
  std::size_t planes = 1;      ///< 1: bytes; 2: low, then high bytes
  std::size_t block = 0;       ///< rows multiplied at a time
  std::size_t delay = 0;       ///< delay of the even level's delayed series, in rows
  std::size_t second_lag = 0;  ///< smallest lag of the odd level, in rows, less `delay`
  std::size_t shifts = 0;      ///< matrices of products that cover all lags
  std::size_t rows_at = 0;     ///< [plane][history, then block, then 16 more][sensor]
  std::size_t first_at = 0;    ///< [plane][kAmxHistory][sensor]: the run's first rows
  std::size_t sums_at = 0;     ///< [sensor][2][kAmxLags] of 8 bytes
  std::size_t totals_at = 0;   ///< [sensor] of 8 bytes: sums of the rows multiplied

  std::size_t plane_bytes() const { return (kAmxHistory + block + 16) * kGroupSensors; }
};

/// State of a pair of levels. A group begins with one for each pair.
struct LevelPairProgress {
  std::uint64_t done = 0;     ///< rows multiplied
  std::uint64_t pending = 0;  ///< rows in the block that are not multiplied yet
  std::uint64_t largest = 0;  ///< upper bound of all samples so far
  std::uint64_t recent = 0;   ///< bits set in any high byte of the history
  std::uint64_t refused = 0;  ///< 1 once a sum could have reached 2^63
};

struct AmxLayout {
  Layout rest;  ///< of the tiles for the levels after the pairs; may have no levels
  std::vector<LevelPair> pairs;
  std::size_t rest_delay = 0;  ///< delay of the rest's delayed series, in rows of the last pair
  std::size_t tiles_at = 0;    ///< of the rest's four tiles
  std::size_t group_bytes = 0;
  std::size_t series_words = 0;   ///< of one sensor and plane, in the scratch memory
  std::size_t scratch_bytes = 0;  ///< for each worker
  std::size_t rows_bytes = 0;     ///< for each worker: rows of all pairs of levels

  const Config& config() const { return rest.config; }
  std::size_t groups() const { return (config().sensors + kGroupSensors - 1) / kGroupSensors; }
};

/// Whether matrix units can compute the first levels.
bool amx_fits(const Config& config, const Tunables& tunables);
/// Throws Error(config) on bad tunables.
AmxLayout make_amx_layout(const Config& config, const Tunables& tunables);

}  // namespace tautline::stages::autocorrelate::cpu
