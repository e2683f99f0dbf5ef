// What the states of a GPU plan share: sizes, kernels, and the layout of what kernels are given.
#pragma once

#include <algorithm>
#include <memory>

#include "tautline/stages/detect/gpu/schedule.h"
#include "tautline/stages/detect/tunables.h"

namespace tautline::stages::detect {

/// Places before a block's running sums, so that those that are written together begin at a
/// multiple of four (units.kernel).
inline constexpr std::size_t kFront = 3;
/// Samples that a group takes its baseline off at most, and halves of segments that they may touch
/// besides two (baseline.kernel).
inline constexpr std::size_t kMostSubtracted = 4096, kSubtractLines = 254;
/// Widest boxcars that are compared eight at once: their cells fill 10 KiB of local memory.
inline constexpr std::size_t kCoarseWidest = 16384;
/// 64-bit words of a job of the kernels, and of one that gathers samples (baseline.kernel).
inline constexpr std::size_t kJobWords = 8, kGatherWords = 4;
/// Of a peak that was found, and of the counters beside them (boxcars.kernel).
inline constexpr std::size_t kRecordBytes = 16, kCounterBytes = 16;
/// Sums of a segment that a trial keeps from call to call (segments.kernel).
inline constexpr std::size_t kSumLanes = 8;
/// Words of a sum of squares (boxcars.kernel).
inline constexpr std::size_t kSquareWords = 5;
/// Events whose samples are gathered at once, and records that are fetched at once.
inline constexpr std::size_t kMostGathers = 4096, kFetched = 65536;

inline std::uint32_t u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
inline std::size_t divide_up(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

struct GpuSetting {
  Config config;
  Sizes sizes;
  GpuSizes rings;
  GpuTunables tunables;
  Scales scales;  ///< for a whole window
  std::shared_ptr<const device::Device> device;
  std::shared_ptr<const device::Kernel> sum_segments, average, subtract, gather, find_median,
      add_up, scan, sum_squares;

  std::size_t tiles() const { return (sizes.noise + tunables.tile - 1) / tunables.tile; }
  /// Samples between trials as they came: the ring and, for who writes there, a block behind it.
  std::size_t x_stride() const {
    const std::size_t block = config.in_place ? (config.max_samples + 1) / 2 * 2 : 0;
    return rings.segment_slots * sizes.segment + block;
  }
  /// Running sums of a block, with what lies before and behind them: a multiple of four.
  std::size_t sums_stride() const {
    return (kFront + tiles() * tunables.tile + sizes.widest() + 1 + 3) / 4 * 4;
  }
  /// Samples that a group takes its baseline off.
  std::size_t subtract_samples() const {
    return std::min(kMostSubtracted, kSubtractLines * (sizes.segment / 2) / 2 * 2);
  }
  /// The first of the widths whose boxcars are compared eight at once.
  std::size_t coarse_from() const;
  /// Blocks whose running sums are held at once.
  std::size_t batch_jobs() const;
  std::size_t step_jobs() const { return config.trials * rings.step_blocks; }
  /// A block can have a peak at every time that a tile's boxcars reach.
  std::size_t records() const;
  std::size_t gathered() const;
  /// Noise::width: limits are measured block by block.
  bool measures_widths() const { return config.noise == Noise::width; }
  device::MemoryUse bytes() const;
};

}  // namespace tautline::stages::detect
