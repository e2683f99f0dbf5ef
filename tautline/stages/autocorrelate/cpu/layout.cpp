#include "tautline/stages/autocorrelate/cpu/layout.h"

#include <algorithm>
#include <limits>
#include <string>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

void check_range(const char* field, std::size_t value, std::size_t least, std::size_t most,
                 std::size_t step) {
  if (value < least || value > most || value % step != 0)
    throw core::Error(core::ErrorKind::config, std::string("autocorrelate tunables ") + field,
                      std::to_string(value),
                      std::to_string(least) + " to " + std::to_string(most) + ", a multiple of " +
                          std::to_string(step));
}

// The narrowest storage that holds every value of a level.
Storage storage_of(const Config& config, std::size_t level, bool bytes) {
  if (config.floats()) return Storage::doubles;
  if (bytes && config.type == SampleType::u8 && level == 0) return Storage::bytes;
  const std::uint64_t most = largest_count(config.type);
  const std::size_t shift = config.coarsening == Coarsening::sum ? level : 0;
  if (shift >= 32 || most << shift > std::numeric_limits<std::uint32_t>::max())
    return Storage::longs;
  return most << shift > std::numeric_limits<std::uint16_t>::max() ? Storage::words
                                                                   : Storage::halves;
}

// A level without its places in memory, which make_layout adds.
Level level_of(const Config& config, std::size_t index, bool bytes, std::size_t lanes) {
  const bool cross = std::any_of(config.pairs.begin(), config.pairs.end(),
                                 [](const Pair& pair) { return pair.a != pair.b; });
  Level level;
  level.range = lag_range(config, index);
  level.storage = storage_of(config, index, bytes);
  // A delay of whole rows of two samples is an offset in the direct series.
  level.separate = cross || level.range.base % (2 * level.range.window) != 0;
  level.first = level.range.first_steps;
  if (!level.separate) level.first += level.range.base / level.range.window;
  level.delay = config.lag_scheme == LagScheme::chain ? config.bins + level.first : 0;
  // Kernels of counts compute up to 3 lags beyond the last, and shifted copies reach 3 samples further; kernels of
  // doubles compute up to 7 lags beyond.
  level.history = core::round_up(level.first + level.range.steps + 8, lanes == 1 ? 64 : 4);
  return level;
}

}  // namespace

Layout make_layout(const Config& config, const Tunables& tunables, bool bytes,
                   std::size_t first_level) {
  check_range("block_samples", tunables.block_samples, 64, 4096, 64);
  check_range("series_block_samples", tunables.series_block_samples, 1024, 65536, 64);
  check_range("series_pairs", tunables.series_pairs, 0, 16, 1);
  Layout layout;
  layout.config = config;
  layout.lanes = config.pair_count() <= tunables.series_pairs ? 1 : kLanes;
  layout.block = layout.lanes == 1 ? tunables.series_block_samples : tunables.block_samples;
  std::size_t history = 0;
  for (std::size_t l = first_level; l < config.levels; ++l) {
    layout.levels.push_back(level_of(config, l, bytes, layout.lanes));
    history = std::max(history, layout.levels.back().history);
  }
  // With blocks no shorter than the history, lags reach into the previous block only.
  layout.block = std::max(layout.block, core::round_up(history, 64));
  std::size_t at = layout.levels.size() * sizeof(Progress);
  const auto take = [&](std::size_t size) {
    const std::size_t start = core::round_up(at, 64);
    at = start + size;
    return start;
  };
  for (Level& level : layout.levels) {
    const std::size_t sample = layout.lanes * bytes_of(level.storage);
    const std::size_t row = layout.lanes * sizeof(std::uint64_t);
    level.delayed_at = take((level.history + layout.block) * sample);
    level.direct_at =
        level.separate ? take(layout.block * sample) : level.delayed_at + level.history * sample;
    level.sums_at = take(level.range.steps * row);
    level.heads_at = take((level.range.steps + 1) * row);
    level.totals_at = take(3 * row);
  }
  // Vector loads may reach beyond the last block.
  layout.tile_bytes = core::round_up(at + 64, 64);
  // Holds shifted copies of bytes and halves, or both series as words.
  const std::size_t samples = layout.lanes * (history + 2 * layout.block + 64);
  layout.scratch_bytes = core::round_up(samples * sizeof(std::uint32_t) + 4096, 4096);
  return layout;
}

}  // namespace tautline::stages::autocorrelate::cpu
