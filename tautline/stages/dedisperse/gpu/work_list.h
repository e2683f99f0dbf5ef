// The work list of a plan on a GPU: one type for all kernels that sum. A work list names its kernel and holds, as data,
// what the kernel is compiled with and what it reads, so that gpu/kernels.h launches every kernel alike. The contents
// differ because the kernels' units of work do (docs/design/gpu.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tautline/device/program.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

/// A kernel may read a row from this many times before the first one that a trial uses.
inline constexpr std::size_t kMostTimesBefore = 64;

/// The size of a group of threads and of its tile, and the memory that the group may use.
struct GroupShape {
  GpuTunables tunables;  ///< threads, trials and entries of time
  std::size_t element_bytes = 1;
  std::size_t shared_bytes = 48 << 10;
  std::size_t channels_in_sum = 257;

  std::size_t span() const { return tunables.items_time * tunables.elements_time; }  ///< entries
  std::size_t trials() const { return tunables.items_dm * tunables.elements_dm; }
  std::size_t threads() const { return tunables.items_time * tunables.items_dm; }
};

struct GpuWorkList {
  GpuWorkList(const GroupShape& shape, std::string kernel_file, std::string kernel_function)
      : file(std::move(kernel_file)),
        function(std::move(kernel_function)),
        constants{{"ITEMS_TIME", shape.tunables.items_time},
                  {"ITEMS_DM", shape.tunables.items_dm},
                  {"ELEMENTS_TIME", shape.tunables.elements_time},
                  {"ELEMENTS_DM", shape.tunables.elements_dm}},
        tunables(shape.tunables),
        threads{shape.tunables.items_time, shape.tunables.items_dm, 1},
        tile_times(shape.span() * (shape.element_bytes == 1 ? 4 : 1)) {}

  std::string file, function;                     ///< the kernel, in dedisperse/gpu/
  std::map<std::string, std::size_t> constants;   ///< definitions that the kernel is compiled with
  std::vector<std::vector<std::uint32_t>> lists;  ///< in the order of the kernel's arguments
  std::vector<std::size_t> numbers;               ///< arguments after the strides of the rows

  GpuTunables tunables;          ///< of the group
  device::Extent3 threads;       ///< of the group
  std::size_t shared_bytes = 0;  ///< 0: the kernel reads rows from device memory
  std::size_t tile_times;
  std::size_t aligned_times = 1;  ///< a tile begins at a multiple of so many times of a row

  bool shares = false;  ///< trials share partial sums
  MethodChoice choice;
  double cycles = 0;   ///< of a multiprocessor for a tile of all trials: relative, not a promise
  double dearest = 0;  ///< the largest number of cycles of a block of trials

  std::size_t block_trials() const { return tunables.items_dm * tunables.elements_dm; }
  std::size_t group_threads() const { return threads.x * threads.y; }
};

}  // namespace tautline::stages::dedisperse
