// What may be tuned in unpack, with its range and the reason for its default.
#pragma once

#include <cstddef>

namespace tautline::stages::unpack {

struct Tunables {
  /// Unpacked bytes that one task writes at least; 64 KiB to 4 MiB. Less, and handing out tasks
  /// shows; more, and two cores end at different times.
  std::size_t task_bytes = std::size_t{1} << 18;
  /// From this distance between times on, 64 times of a 64-byte column are first copied together;
  /// 0 (always) to any (never). Lines that far apart fall into few sets of the first-level cache
  /// and would be thrown out between the passes over a column's four 16-byte parts.
  std::size_t gather_stride_bytes = 512;
};

}  // namespace tautline::stages::unpack
