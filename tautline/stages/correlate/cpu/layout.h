// Sizes of panels, chunks and groups, their offsets in a state's memory, and the order of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/correlate/cpu/kernels.h"
#include "tautline/stages/correlate/tunables.h"

namespace tautline::stages::correlate::cpu {

/// The sizes of a kernel that the layout depends on.
struct KernelSizes {
  std::size_t step_samples;
  std::size_t step_bytes;
  std::size_t max_chunk_samples;
  std::size_t group_panels;
  std::size_t step_row_bytes;
  std::size_t sample_bytes;  ///< of a row's samples
  std::size_t sum_bytes;
};

/// Sizes are in bytes unless their names say otherwise. A lane is the memory of one channel in
/// progress; rows are the memory in which one worker copies and masks rows before packing.
struct Layout {
  std::size_t panels = 0;
  std::size_t blocks = 0;
  std::size_t chunk_samples = 0;
  std::size_t group_panels = 0;
  std::size_t panel_bytes = 0;         ///< of a packed panel; panels begin a lane
  std::size_t row_factor_bytes = 0;    ///< of one panel, if packed apart
  std::size_t row_factors_offset = 0;  ///< in a lane
  std::size_t sums_offset = 0;
  std::size_t corrections_offset = 0;
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
  struct Group {
    std::size_t first_panel, last_panel;
    std::size_t first_block, last_block;
  };

  BlockOrder(std::size_t panels, std::size_t group_panels);

  std::vector<Group> groups;
  /// Inputs by which prefetching leads. Prefetched at an even pace over the blocks, rows then
  /// arrive before their group is packed.
  std::size_t rows_ahead = 0;
  std::vector<PanelPair> blocks;
  std::vector<std::uint32_t> places;  ///< index in `blocks` of block (row, column), at
                                      ///< baseline_index(row, column)
};

}  // namespace tautline::stages::correlate::cpu
