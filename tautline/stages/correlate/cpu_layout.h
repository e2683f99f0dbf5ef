// How the CPU correlator cuts a problem up, and where in a state's memory each part lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/correlate/cpu.h"

namespace tautline::stages::correlate::cpu {

/// What the layout needs to know of a kernel.
struct KernelSizes {
  std::size_t step_samples;
  std::size_t step_bytes;
  std::size_t max_chunk_samples;
  std::size_t row_bytes;  ///< of one sample of a row
  std::size_t sum_bytes;
  bool packs_ahead;  ///< whether it needs memory for two packed chunks
};

/// Sizes in bytes unless they say otherwise. A lane is what one channel in progress takes; rows are
/// what one worker takes to make rows ready for packing.
struct Layout {
  std::size_t panels = 0;
  std::size_t blocks = 0;
  std::size_t chunk_samples = 0;
  std::size_t panel_bytes = 0;       ///< packed
  std::size_t packed_bytes = 0;      ///< of one chunk's panels, at the start of a lane
  std::size_t packed_chunks = 0;     ///< 1, or 2 side by side
  std::size_t next_rows_offset = 0;  ///< in a lane: where the next chunk's rows are listed
  std::size_t sums_offset = 0;
  std::size_t corrections_offset = 0;  ///< of this chunk, then of the next
  std::size_t lane_bytes = 0;
  std::size_t row_stride_samples = 0;
  std::size_t rows_bytes = 0;  ///< kPanel rows of one worker
  std::size_t lanes = 0;       ///< channels in progress at once: 1 or the workers

  std::size_t bytes(std::size_t workers) const {
    return lanes * lane_bytes + workers * rows_bytes + rows_bytes / kPanel;
  }
};

/// Throws Error(config) when a tunable is out of range.
Layout make_layout(const Config& config, const KernelSizes& kernel, const Tunables& tunables,
                   std::size_t workers);

/// The blocks of the triangle in the order in which they are computed: groups of row panels, and
/// in a group one column panel after the other, so that a column panel is used by the whole group
/// while it is in the first-level cache.
struct BlockOrder {
  BlockOrder(std::size_t panels, std::size_t group_panels);

  std::vector<Block> blocks;
  std::vector<std::uint32_t> places;  ///< of block (row, column), at baseline_index(row, column)
};

}  // namespace tautline::stages::correlate::cpu
