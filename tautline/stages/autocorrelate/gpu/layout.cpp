#include "tautline/stages/autocorrelate/gpu/layout.h"

#include <algorithm>
#include <bit>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"
#include "tautline/core/sample_type.h"

namespace tautline::stages::autocorrelate::gpu {

namespace {

constexpr std::size_t kAlignment = 256;
// Kernels multiply groups of lags and read rows for the unused lags of the last group, too. Tiles
// of matrix units read up to kSlackRows more.
constexpr std::size_t kLagGroup = 64, kSlackRows = 128;
// The counts of one chunk have at most kMostChunkBytes, except for large arrays: in short chunks
// the additions to the sums in memory limit the rate. 100,000 sensors on a GPU with 141 GB: 248 G
// samples/s in chunks of 4,096 samples, 275 in 8,192, 289 in 16,384, 309 in 65,536. A state takes
// about four times the memory of one chunk's counts, so chunks of 1/64 of the device's memory leave
// most of it free.
constexpr std::size_t kMostChunkBytes = std::size_t{256} << 20, kFewSamples = 4096;
constexpr std::size_t kMemoryParts = 64;

void check(const char* field, std::size_t value, std::size_t least, std::size_t most) {
  if (value < least || value > most)
    throw core::Error(core::ErrorKind::config, std::string("autocorrelate tunable ") + field,
                      std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
}

void check(const GpuTunables& t) {
  check("lags", t.lags, 1, 32);
  check("threads", std::has_single_bit(t.threads) ? t.threads : 0, 16, 256);
  check("part_rows", t.part_rows, 64, 65536);
  check("chunk_samples", t.chunk_samples, 64, std::size_t{1} << 20);
  check("pending_rows", t.pending_rows, 1, 4096);
}

// Chooses the narrowest type that holds every sample of a level.
void choose_type(const Config& config, std::size_t index, GpuLevel& level) {
  if (config.type == SampleType::f32) {
    level.type = index == 0 ? "float" : "double";
    level.sample_bytes = index == 0 ? 4 : 8;
    return;
  }
  const std::uint64_t count = largest_count(config.type);
  const bool sums = config.coarsening == Coarsening::sum && index > 0;
  const bool known = !sums || std::bit_width(count) + index <= 64;
  level.largest = !known ? 0 : sums ? count << index : count;
  const auto bits = known ? static_cast<std::size_t>(std::bit_width(level.largest)) : 64;
  // Coarse levels have 16 bits or more, so that fewer programs are needed.
  level.sample_bytes = bits <= 8 && index == 0 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  level.type = "u";
  level.type += std::to_string(8 * level.sample_bytes);
}

// fold.kernel adds bytes in 16-bit halves, at levels whose window divides the base.
std::size_t folds_of(const Config& config) {
  constexpr std::size_t kMostFolds = 5;
  if (config.type != SampleType::u8 || config.coarsening != Coarsening::sum) return 0;
  const auto even = static_cast<std::size_t>(std::countr_zero(config.bins));
  return std::min(
      {kMostFolds, config.levels - 1, config.lag_scheme == LagScheme::chain ? even : kMostFolds});
}

std::size_t chunk_of(const Config& config, const GpuTunables& tunables, std::size_t row_bytes,
                     std::size_t memory_bytes) {
  const std::size_t share = std::bit_floor(memory_bytes / kMemoryParts / row_bytes);
  const std::size_t most = std::max({kFewSamples, kMostChunkBytes / row_bytes, share});
  return std::min({config.max_samples, tunables.chunk_samples, most});
}

}  // namespace

GpuLayout make_layout(const Config& config, const GpuTunables& tunables, std::size_t memory_bytes) {
  check(tunables);
  GpuLayout layout;
  layout.config = config;
  layout.pending = tunables.pending_rows;
  layout.lags = lag_count(config);
  layout.folds = folds_of(config);
  layout.padded_sensors = core::round_up(config.sensors, 32);
  layout.chunk =
      chunk_of(config, tunables, layout.padded_sensors * core::bytes_of(config.type), memory_bytes);
  const auto take = [&](std::size_t bytes) {
    const std::size_t at = layout.bytes;
    layout.bytes = core::round_up(layout.bytes + bytes, kAlignment);
    return at;
  };
  for (std::size_t l = 0; l < config.levels; ++l) {
    GpuLevel level;
    level.range = lag_range(config, l);
    choose_type(config, l, level);
    level.separate = level.range.has_lead_in();
    level.shift = level.separate ? 0 : level.range.base / level.range.window;
    const std::size_t reach = level.shift + level.range.first_steps +
                              core::round_up(level.range.steps, kLagGroup) + config.bins +
                              kSlackRows;
    level.rows = l == 0 ? reach : reach + layout.pending + (layout.chunk >> l) + 2;
    level.begin_rows = level.range.whole + level.range.first_steps + level.range.steps;
    level.pitch_bytes = layout.padded_sensors * level.sample_bytes;
    level.d_at = take(level.rows * level.pitch_bytes);
    if (level.separate || l == 0) level.e_at = take(level.rows * level.pitch_bytes);
    level.begin_at = take(level.begin_rows * level.pitch_bytes);
    level.lead_at = take(level.pitch_bytes);
    level.folded = l > 0 && l <= layout.folds;
    level.total_d_at = level.folded ? layout.levels[0].total_d_at : take(layout.padded_sensors * 8);
    level.total_e_at = take(layout.padded_sensors * 8);
    layout.levels.push_back(level);
  }
  layout.sums_at = take(config.pair_count() * layout.lags * 8);
  layout.largest_at = take(4);
  return layout;
}

}  // namespace tautline::stages::autocorrelate::gpu
