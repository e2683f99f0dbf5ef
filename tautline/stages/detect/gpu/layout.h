// Memory layout of the GPU search: rings of each trial, and work memory of a step.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tautline/core/integers.h"
#include "tautline/device/device.h"
#include "tautline/stages/detect/sizes.h"
#include "tautline/stages/detect/tunables.h"

namespace tautline::stages::detect {

/// Words before a block's running sums, so that the sums that are written together start at a
/// multiple of four (units.kernel).
inline constexpr std::size_t kFront = 3;
/// Most samples from which a group subtracts the baseline, and most halves of segments that they
/// touch, besides two (baseline.kernel).
inline constexpr std::size_t kMostSubtracted = 4096, kSubtractLines = 254;
/// Widest boxcars that are compared eight at a time: their cells fill 10 KiB of shared memory.
inline constexpr std::size_t kCoarseWidest = 16384;
/// Times of which one group finds the best boxcars (peaks.kernel).
inline constexpr std::size_t kPeakTimes = 2048;
/// 64-bit words of a job of the kernels, of a job that refines an event and of its result (refine.kernel).
inline constexpr std::size_t kJobWords = 8, kRefineWords = 10, kMiddleWords = 5;
/// Bytes of a record of a run of peaks, and of the counters (peaks.kernel).
inline constexpr std::size_t kRecordBytes = 40, kCounterBytes = 16;
/// Partial sums of the segment that is being filled (segments.kernel).
inline constexpr std::size_t kSumLanes = 8;
/// Words of a sum of squares (boxcars.kernel).
inline constexpr std::size_t kSquareWords = 5;
/// Most events that are refined together, and most records that are fetched together.
inline constexpr std::size_t kMostRefined = 4096, kFetched = 65536;

/// Sizes of each trial's rings in the device's memory, and of one step at most.
struct GpuRings {
  std::size_t segment_slots = 0;  ///< segments of input samples
  std::size_t mean_slots = 0;     ///< means of segments, and running means
  std::size_t y_samples = 0;      ///< baselined samples, a multiple of 4
  std::size_t sigma_slots = 0;    ///< sigmas of blocks
  std::size_t step_segments = 0;  ///< most segments that one step baselines
  std::size_t step_blocks = 0;    ///< most blocks that one step searches
};
GpuRings derive_rings(const Sizes& sizes, std::size_t max_samples);

struct GpuLayout : Setting {
  using Setting::Setting;
  GpuRings rings = derive_rings(sizes, config.max_samples);
  GpuTunables tunables;

  std::size_t tiles() const { return core::divide_up(sizes.noise, tunables.tile); }
  /// Groups that find the peaks of a block: at the middles of its boxcars.
  std::size_t peak_tiles() const {
    return core::divide_up(sizes.noise + sizes.widest() / 2, kPeakTimes);
  }
  /// Samples between the input rings of two trials: a ring, and with Config::in_place a block after
  /// it, so that the caller can write a block that starts anywhere in the ring.
  std::size_t x_stride() const {
    const std::size_t block = config.in_place ? (config.max_samples + 1) / 2 * 2 : 0;
    return rings.segment_slots * sizes.segment + block;
  }
  /// Running sums of a block with the words before and after them, a multiple of four.
  std::size_t sums_stride() const {
    return (kFront + tiles() * tunables.tile + sizes.widest() + 1 + 3) / 4 * 4;
  }
  /// Samples from which a group subtracts the baseline.
  std::size_t subtract_samples() const {
    return std::min(kMostSubtracted, kSubtractLines * (sizes.segment / 2) / 2 * 2);
  }
  /// Index of the first width whose boxcars are compared eight at a time.
  std::size_t coarse_from() const;
  /// Blocks whose running sums are in memory together.
  std::size_t batch_jobs() const;
  std::size_t step_jobs() const { return config.trials * rings.step_blocks; }
  /// Records of peaks: those of one block at least, which has at most one peak at every time.
  std::size_t records() const;
  /// Running sums of the events that are refined together.
  std::size_t refined_sums() const;
  /// Whether the least sums are measured block by block (Noise::width).
  bool measures_widths() const { return config.noise == Noise::width; }
  device::MemoryUse bytes() const;
};

}  // namespace tautline::stages::detect
