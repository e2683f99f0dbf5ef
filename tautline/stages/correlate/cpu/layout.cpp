#include "tautline/stages/correlate/cpu/layout.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"

namespace tautline::stages::correlate::cpu {

namespace {

constexpr std::size_t kAlignment = 64;      // a cache line, and the widest vector
constexpr std::size_t kChunkMultiple = 64;  // a validity word, and a multiple of every step
constexpr std::size_t kMaxChunk = kMaxSumSamples / kChunkMultiple * kChunkMultiple;
// With larger lanes (from some 1,900 inputs) all workers share one lane: many cores with a lane
// each would take gigabytes.
constexpr std::size_t kMaxLaneBytes = 16 * 1024 * 1024;

void check(const Tunables& tunables) {
  if (tunables.chunk_samples != 0) {
    core::require_range("correlate tunable chunk_samples", tunables.chunk_samples, kChunkMultiple,
                        kMaxChunk);
    if (tunables.chunk_samples % kChunkMultiple != 0)
      throw core::Error(core::ErrorKind::config, "correlate tunable chunk_samples",
                        std::to_string(tunables.chunk_samples), "a multiple of 64");
  }
  core::require_range("correlate tunable cache_bytes", tunables.cache_bytes, std::size_t{1} << 15,
                      std::size_t{1} << 30);
  if (tunables.group_panels != 0)
    core::require_range("correlate tunable group_panels", tunables.group_panels, 1,
                        kMaxInputs / kPanel);
}

// The panels of one group and as many column panels should fit in the cache.
std::size_t choose_chunk(const Config& config, const KernelSizes& kernel, const Tunables& tunables,
                         const Layout& layout) {
  std::size_t chunk = tunables.chunk_samples;
  if (chunk == 0) {
    const std::size_t resident = std::min(layout.panels, 2 * layout.group_panels);
    const std::size_t steps = tunables.cache_bytes / (resident * kernel.step_bytes);
    chunk = std::clamp(steps * kernel.step_samples / kChunkMultiple * kChunkMultiple,
                       kChunkMultiple, kernel.max_chunk_samples);
  }
  return std::min(chunk, core::round_up(config.max_samples, kChunkMultiple));
}

}  // namespace

Layout make_layout(const Config& config, const KernelSizes& kernel, const Tunables& tunables,
                   std::size_t workers) {
  check(tunables);
  Layout layout;
  layout.panels = (config.inputs + kPanel - 1) / kPanel;
  layout.blocks = core::baseline_count(layout.panels);
  layout.group_panels = tunables.group_panels == 0 ? kernel.group_panels : tunables.group_panels;
  layout.chunk_samples = choose_chunk(config, kernel, tunables, layout);
  const std::size_t steps = layout.chunk_samples / kernel.step_samples;
  layout.panel_bytes = steps * kernel.step_bytes;
  layout.row_factor_bytes = steps * kernel.step_row_bytes;
  layout.row_factors_offset = core::round_up(layout.panels * layout.panel_bytes, kAlignment);
  layout.sums_offset = core::round_up(
      layout.row_factors_offset + layout.panels * layout.row_factor_bytes, kAlignment);
  layout.corrections_offset = layout.sums_offset + layout.blocks * kSumsPerBlock * kernel.sum_bytes;
  layout.lane_bytes = core::round_up(
      layout.corrections_offset + layout.panels * kCorrections * kernel.sum_bytes, kAlignment);
  // A cache line more than the chunk, so that 16 rows do not all map to the same cache sets.
  layout.row_stride_samples = layout.chunk_samples + kAlignment / kernel.sample_bytes;
  layout.rows_bytes = kPanel * layout.row_stride_samples * kernel.sample_bytes;
  layout.lanes = config.channels >= workers && layout.lane_bytes <= kMaxLaneBytes ? workers : 1;
  return layout;
}

BlockOrder::BlockOrder(std::size_t panels, std::size_t group_panels)
    : places(core::baseline_count(panels)) {
  blocks.reserve(places.size());
  for (std::size_t first = 0; first < panels; first += group_panels) {
    const std::size_t last = std::min(first + group_panels, panels);
    groups.push_back({first, last, core::baseline_count(first), core::baseline_count(last)});
    for (std::size_t column = 0; column < last; ++column)
      for (std::size_t row = std::max(first, column); row < last; ++row) {
        places[core::baseline_index(row, column)] = static_cast<std::uint32_t>(blocks.size());
        blocks.push_back({static_cast<std::uint16_t>(row), static_cast<std::uint16_t>(column)});
      }
  }
  // Half a group more hides the latency of memory.
  for (const Group& group : groups)
    rows_ahead = std::max(rows_ahead, group.last_panel * kPanel -
                                          panels * kPanel * group.first_block / blocks.size() +
                                          group_panels * kPanel / 2);
  rows_ahead = std::min(rows_ahead, panels * kPanel);
}

}  // namespace tautline::stages::correlate::cpu
