// Memory layout of the GPU autocorrelator: the parts of a state in device memory.
//
// Every level has its series, [row][sensor], in a ring of rows: the rows that lags reach back to,
// the rows that are not multiplied yet, and the rows of one chunk. With standard lags, and in the
// levels of a chain whose window divides the base, e[j] is d[j - shift]. The other levels have a
// ring of e too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"
#include "tautline/stages/autocorrelate/tunables.h"

namespace tautline::stages::autocorrelate::gpu {

struct GpuLevel {
  LagRange range;
  std::string type;  ///< of its samples, in kernels: "u8" ... "u64", "float", "double"
  std::size_t sample_bytes = 1;
  std::uint64_t largest = 0;       ///< largest possible sample; 0: unknown (floats, 64 bits)
  bool separate = false;           ///< whether e has a ring of its own
  std::uint64_t shift = 0;         ///< otherwise e[j] is d[j - shift]
  std::size_t rows = 0;            ///< of the ring; level 0: of the kept counts
  std::size_t begin_rows = 0;      ///< first rows of d, kept for the monitors
  std::size_t pitch_bytes = 0;     ///< from row to row
  std::size_t d_at = 0, e_at = 0;  ///< the rings, in bytes; level 0: two buffers used alternately
  std::size_t begin_at = 0, lead_at = 0;
  std::size_t total_d_at = 0, total_e_at = 0;
  /// Made by fold.kernel. Its total is that of level 0 less the counts since its last row.
  bool folded = false;
};

struct GpuLayout {
  Config config;
  std::size_t chunk = 0;    ///< samples
  std::size_t pending = 0;  ///< rows of a coarse level that are multiplied together
  std::size_t lags = 0;
  std::size_t folds = 0;  ///< levels that fold.kernel makes
  std::size_t padded_sensors = 0;
  std::vector<GpuLevel> levels;
  std::size_t sums_at = 0, largest_at = 0;
  std::size_t bytes = 0;  ///< of the whole layout
  bool floats() const { return config.type == SampleType::f32; }
};

/// Whether a level's samples suit the integer matrix units: up to 32 bits.
inline bool fits_matrix_units(const GpuLevel& level) {
  return level.largest > 0 && level.sample_bytes <= 4;
}

/// Throws Error(config) on bad tunables. `memory_bytes` is the device's memory; it limits the
/// chunks of large arrays.
GpuLayout make_layout(const Config& config, const GpuTunables& tunables, std::size_t memory_bytes);

}  // namespace tautline::stages::autocorrelate::gpu
