#include "tautline/stages/detect/gpu/layout.h"

#include <cmath>

#include "tautline/core/integers.h"

namespace tautline::stages::detect {

GpuRings derive_rings(const Sizes& sizes, std::size_t max_samples) {
  GpuRings rings;
  const std::size_t fresh = core::divide_up(max_samples, sizes.segment) + 1;
  rings.step_segments = std::max<std::size_t>(fresh, 4);
  // The segments of a window that is not complete, the one that is being filled, and the new ones.
  rings.segment_slots = kWindowSegments + 2 + fresh;
  rings.mean_slots = 2 * kWindowSegments + 2 + std::max(fresh, rings.step_segments);
  const std::size_t step = (rings.step_segments + 1) * sizes.segment;
  const std::size_t waiting = sizes.noise + sizes.beside_block();
  // A step's samples are read while the next one writes its own. Kernels read four samples at a
  // time, from blocks that start at multiples of four.
  rings.y_samples = (sizes.beside_block() + waiting + 2 * step + 3) / 4 * 4;
  rings.step_blocks = (waiting + step) / sizes.noise + 1;
  rings.sigma_slots = rings.step_blocks + 2;
  return rings;
}

std::size_t GpuLayout::batch_jobs() const {
  const std::size_t each = 2 * 4 * sums_stride();
  return std::clamp<std::size_t>(tunables.sums_bytes / each, 1, step_jobs());
}

std::size_t GpuLayout::records() const {
  return std::max(tunables.records, peak_tiles() * kPeakTimes);
}

std::size_t GpuLayout::refined_sums() const {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  return std::max(4 * sizes.widest() + 2, std::min(kMost, config.trials * sizes.noise));
}

// The highest S/N of noise in a tile of 4,096 boxcars is about 4.4. The bound of eight neighbouring
// boxcars exceeds the best of them by some 14 sigma of one sample at most.
std::size_t GpuLayout::coarse_from() const {
  double least = static_cast<double>(tunables.coarse);
  if (tunables.coarse == 0) {
    constexpr double kHighestOfNoise = 4.4, kSlackSigmas = 14, kLeast = 64;
    const double above = config.threshold - kHighestOfNoise;
    if (above <= 0) return sizes.widths.size();
    least = std::max(kLeast, std::pow(kSlackSigmas / above, 2));
  }
  return static_cast<std::size_t>(
      std::find_if(sizes.widths.begin(), sizes.widths.end(),
                   [&](std::size_t w) { return static_cast<double>(w) >= least; }) -
      sizes.widths.begin());
}

device::MemoryUse GpuLayout::bytes() const {
  const std::size_t trials = config.trials, widths = sizes.widths.size();
  const std::size_t batch = batch_jobs(), jobs = (step_jobs() + trials) * kJobWords * 8;
  const std::size_t sets = measures_widths() ? batch : 1;
  const std::size_t samples = trials * (x_stride() + rings.y_samples) * 4;
  const std::size_t means = trials * (2 * rings.mean_slots * 8 + 2 * kSumLanes * 12 + 8);
  const std::size_t found = records() * kRecordBytes + trials * widths * 8;
  const std::size_t refining = kMostRefined * (kRefineWords + kMiddleWords) * 8;
  const std::size_t sigmas = trials * rings.sigma_slots * 8;
  const std::size_t limits =
      sets * widths * 16 + (measures_widths() ? batch * widths * kSquareWords * 8 : 0);
  return {jobs + sigmas + std::min(records(), kFetched) * kRecordBytes + refining +
              2 * trials * widths * 8 + limits,
          samples + means + jobs + sigmas +
              batch * (2 * 4 * sums_stride() + 8 + 4 * tiles() * (widths + 1)) + found +
              refined_sums() * 8 + refining + limits};
}

}  // namespace tautline::stages::detect
