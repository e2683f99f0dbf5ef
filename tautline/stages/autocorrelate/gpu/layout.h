// Inside of the GPU autocorrelator: where a state's parts lie in device memory.
//
// Every level's series is kept per sensor, [row][sensor], in a ring of rows that holds what lags
// reach back to, what waits to be multiplied and what one chunk adds. In the standard ladder, and
// in a chain as long as a level's window divides its base, e[j] is d[j - shift]; later levels have
// a ring of e too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/gpu/tunables.h"
#include "tautline/stages/autocorrelate/ladder.h"

namespace tautline::stages::autocorrelate::gpu {

struct GpuLevel {
  Rung rung;
  std::string type;  ///< of its samples, as kernels call it: "u8" ... "u64", "float", "double"
  std::size_t sample_bytes = 1;
  std::uint64_t largest = 0;   ///< sample that can occur; 0 where that is unknown (floats, 64 bits)
  bool separate = false;       ///< e has a ring of its own
  std::uint64_t shift = 0;     ///< else rows by which e lies behind d
  std::size_t rows = 0;        ///< of the ring; level 0: of the kept counts
  std::size_t begin_rows = 0;  ///< first rows of d, which the monitors need
  std::size_t pitch_bytes = 0;     ///< from row to row
  std::size_t d_at = 0, e_at = 0;  ///< the rings, in bytes; level 0: two buffers used in turns
  std::size_t begin_at = 0, lead_at = 0;
  std::size_t total_d_at = 0, total_e_at = 0;
  bool folded =
      false;  ///< made by the first pass; its total is that of level 0 but for the newest counts
};

struct GpuLayout {
  Config config;
  std::size_t chunk = 0;    ///< samples
  std::size_t pending = 0;  ///< rows
  std::size_t lags = 0;
  std::size_t folds = 0;  ///< levels that the first pass makes (fold.kernel)
  std::size_t padded_sensors = 0;
  std::vector<GpuLevel> levels;
  std::size_t sums_at = 0, largest_at = 0;
  std::size_t bytes = 0;  ///< of all of it
  bool floats() const { return config.type == CountType::f32; }
};

/// Whether matrix units, where there are any, can sum a level's products: of counts up to 32 bits.
inline bool fits_matrix_units(const GpuLevel& level) {
  return level.largest > 0 && level.sample_bytes <= 4;
}

/// Throws Error(config) on bad tunables. `memory_bytes`: of the device; chunks of wide arrays are as
/// long as a small part of it allows.
GpuLayout make_layout(const Config& config, const GpuTunables& tunables, std::size_t memory_bytes);

}  // namespace tautline::stages::autocorrelate::gpu
