// Tunables of unpack, with ranges and the reasons for the defaults.
#pragma once

#include <cstddef>

namespace tautline::stages::unpack {

struct Tunables {
  /// Fewest unpacked bytes of one task; 64 KiB to 4 MiB. With less the cost of tasks is measurable;
  /// with more, threads finish at different times.
  std::size_t task_bytes = std::size_t{1} << 18;
  /// With at least this stride between times, 64 times of a 64-byte column are first gathered in a
  /// buffer; 0: always. Lines that far apart map to few sets of the first-level cache and would be
  /// evicted between the passes over a column's four 16-byte parts.
  std::size_t gather_stride_bytes = 512;
};

}  // namespace tautline::stages::unpack
