// How a tile's memory is divided.
#include <algorithm>
#include <limits>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/cpu.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

constexpr std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}

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
  if (config.type == CountType::f32) return Storage::doubles;
  if (bytes && config.type == CountType::u8 && level == 0) return Storage::bytes;
  const std::uint64_t most = largest_count(config.type);
  const std::size_t shift = config.coarsening == Coarsening::sum ? level : 0;
  if (shift >= 32 || most << shift > std::numeric_limits<std::uint32_t>::max())
    return Storage::longs;
  return most << shift > std::numeric_limits<std::uint16_t>::max() ? Storage::words
                                                                   : Storage::halves;
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
  // Up to 3 lags beyond the last are computed, and shifted series reach 3 samples further.
  layout.history = round_up(config.bins + 8, layout.lanes == 1 ? 64 : 4);
  // A block and the one before it then hold all that lags reach.
  layout.block = std::max(layout.block, round_up(layout.history, 64));
  const bool cross = std::any_of(config.pairs.begin(), config.pairs.end(),
                                 [](const Pair& pair) { return pair.a != pair.b; });
  std::size_t at = (config.levels - std::min(first_level, config.levels)) * sizeof(Progress);
  const auto take = [&](std::size_t size) {
    const std::size_t start = round_up(at, 64);
    at = start + size;
    return start;
  };
  for (std::size_t l = first_level; l < config.levels; ++l) {
    Level level;
    level.rung = rung_of(config, l);
    level.storage = storage_of(config, l, bytes);
    level.separate = cross || (config.ladder == Ladder::chain && l > 0);
    level.delay = config.ladder == Ladder::chain ? config.bins : 0;
    const std::size_t sample = layout.lanes * bytes_of(level.storage);
    const std::size_t row = layout.lanes * sizeof(std::uint64_t);
    level.delayed_at = take((layout.history + layout.block) * sample);
    level.direct_at =
        level.separate ? take(layout.block * sample) : level.delayed_at + layout.history * sample;
    level.sums_at = take(level.rung.steps * row);
    level.heads_at = take((level.rung.steps + 1) * row);
    level.totals_at = take(3 * row);
    layout.levels.push_back(level);
  }
  // Vectors at the end of a block may be read beyond it.
  layout.tile_bytes = round_up(at + 64, 64);
  // Shifted copies of bytes and halves, or both series as words.
  const std::size_t samples = layout.lanes * (layout.history + 2 * layout.block + 64);
  layout.scratch_bytes = round_up(samples * sizeof(std::uint32_t) + 4096, 4096);
  return layout;
}

}  // namespace tautline::stages::autocorrelate::cpu
