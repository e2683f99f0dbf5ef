// What can be tuned in the CPU correlator, with ranges and defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::correlate {

/// Zero means: the default of the kernel that runs, which knows its cache needs.
struct Tunables {
  /// Samples that are packed, multiplied and added to the sums at a time: a multiple of 64, from
  /// 64 to 65,472 (the 32-bit sums' limit). Longer chunks write the sums less often; shorter ones
  /// keep two packed panels in the first-level cache. 0: the largest that `cache_bytes` and the
  /// kernel's own limit allow.
  std::size_t chunk_samples = 0;

  /// Packed operands of one worker that should stay in its second-level cache, 32 KiB to 1 GiB.
  /// 768 KiB leaves room for the sums in the 1 MiB of Zen 5 and the 2 MiB of Sapphire Rapids.
  std::size_t cache_bytes = 768 * 1024;

  /// Row panels (of 16 inputs) that share one pass over the column panels, 1 to 256. A column
  /// panel then comes from the outer cache once per group, and the group's own panels stay in the
  /// second-level cache, or (AMX, 2) in the first. 0: the kernel's own.
  std::size_t group_panels = 0;

  friend constexpr bool operator==(const Tunables&, const Tunables&) = default;
};

}  // namespace tautline::stages::correlate
