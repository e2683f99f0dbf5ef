// What may be changed without changing any result by more than float rounding.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/stages/channelize/channelize.h"

namespace tautline::stages::channelize {

struct Tunables {
  /// Channels (a power of two) up to which filter, transform, requantisation and turn run fused in
  /// cache; above it, and for other sizes, the device's FFT does the transform. 0 to 65,536; see
  /// docs/performance/channelize.md for what was measured.
  std::size_t fused_max_channels = 65536;
  /// Samples that one call of the parallel loop takes at least: enough to hide the loop's own cost
  /// (about a microsecond), few enough to share a short block between threads. 1 or more.
  std::size_t grain_samples = 1 << 16;
  /// Most bytes that the device's FFT transforms at once; one spectrum when it is larger. Half of a
  /// 1 MiB second-level cache leaves room for samples and coefficients.
  std::size_t batch_bytes = 512 << 10;
  /// Requantised output of a call from which on it is written past the caches: nothing of it would
  /// still be there when its reader comes, and lines need not be read to be overwritten. Measured
  /// gain: 15 % at 1,024 channels, 40 % at 128; below, the next stage finds its input in cache.
  std::size_t stream_bytes = 8 << 20;

  friend bool operator==(const Tunables&, const Tunables&) = default;
};

/// make_plan with values other than the defaults: tuning and tests.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables);

}  // namespace tautline::stages::channelize
