// The levels of a tile: fills blocks, multiplies full ones, and adds their coarse samples to the
// next level. Included once per target, inside its namespace, by cpu/dispatch.cpp and cpu/vnni.cpp.

#include "tautline/stages/autocorrelate/cpu/vector-inl.h"
//
#include "tautline/stages/autocorrelate/cpu/coarsen-inl.h"
#include "tautline/stages/autocorrelate/cpu/counts-inl.h"
#include "tautline/stages/autocorrelate/cpu/input-inl.h"
#include "tautline/stages/autocorrelate/cpu/measure-inl.h"
#include "tautline/stages/autocorrelate/cpu/multiply-doubles-inl.h"
//
#include "tautline/stages/autocorrelate/cpu/multiply-inl.h"

__extension__ typedef unsigned __int128 Huge;

/// One sample in the 8 bytes of a sum: an integer, or the bits of a double.
std::uint64_t sample_at(Storage storage, const std::byte* samples, std::size_t lanes, std::size_t t,
                        std::size_t lane) {
  const std::size_t at = place_of(storage, lanes, t, lane);
  switch (storage) {
    case Storage::bytes:
      return reinterpret_cast<const std::uint8_t*>(samples)[at];
    case Storage::halves:
      return reinterpret_cast<const std::uint16_t*>(samples)[at];
    case Storage::words:
      return reinterpret_cast<const std::uint32_t*>(samples)[at];
    default:
      return reinterpret_cast<const std::uint64_t*>(samples)[at];
  }
}

/// Keeps, of a run's first samples, the sums of d below whole + k for the monitors, and for the
/// lead-in the delayed sample whose window starts before the first sample.
void keep_heads(const Layout& layout, const Level& level, const Progress& progress,
                const std::byte* direct, const std::byte* delayed, std::size_t count,
                std::byte* tile) {
  const LagRange& range = level.range;
  const std::uint64_t first =
      range.whole + range.first_steps;  // the second head is the sum below it
  const std::uint64_t start = progress.done, end = start + count;
  if (start > first + range.steps) return;
  const std::size_t lanes = layout.lanes;
  auto* heads = reinterpret_cast<std::uint64_t*>(tile + level.heads_at);
  auto* totals = reinterpret_cast<std::uint64_t*>(tile + level.totals_at);
  if (range.has_lead_in() && range.whole > start && range.whole <= end)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      totals[2 * lanes + lane] =
          sample_at(level.storage, delayed, lanes, range.whole - 1 - start, lane);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint64_t sum = totals[lane];
    for (std::size_t t = 0; t < count; ++t) {
      const std::uint64_t x = start + t;  // `sum` is the sum of d below x
      if (x > first + range.steps) break;
      if (x + 1 >= first && x + 1 - first <= range.steps)
        heads[(x + 1 - first) * lanes + lane] = sum;
      const std::uint64_t value = sample_at(level.storage, direct, lanes, t, lane);
      sum = level.storage == Storage::doubles
                ? std::bit_cast<std::uint64_t>(std::bit_cast<double>(sum) +
                                               std::bit_cast<double>(value))
                : sum + value;
    }
  }
}

/// Bounds every sum by the largest delayed sample times the sum of the direct samples.
void refuse_overflow(const Layout& layout, const Level& level, Progress& progress,
                     const std::byte* tile) {
  if (level.storage == Storage::doubles) return;
  const auto* totals = reinterpret_cast<const std::uint64_t*>(tile + level.totals_at);
  std::uint64_t most = 0;
  for (std::size_t lane = 0; lane < (level.separate ? 2 : 1) * layout.lanes; ++lane)
    most = std::max(most, totals[lane]);
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (most >= kLimit || Huge{most} * progress.largest >= kLimit) progress.refused = 1;
}

std::size_t block_bytes(const Layout& layout, const Level& level, std::size_t samples) {
  return samples * layout.lanes * bytes_of(level.storage);
}

/// Multiplies the pending samples of a level at all its lags and appends the coarse samples to the
/// next level's block.
void multiply_level(const Layout& layout, std::size_t l, std::byte* tile, std::byte* scratch,
                    Prefetch& prefetch) {
  const Level& level = layout.levels[l];
  Progress& progress = reinterpret_cast<Progress*>(tile)[l];
  const std::size_t lanes = layout.lanes, count = progress.pending;
  auto* totals = reinterpret_cast<std::uint64_t*>(tile + level.totals_at);
  const std::byte* direct = tile + level.direct_at;
  const std::byte* delayed = tile + level.delayed_at + block_bytes(layout, level, level.history);
  keep_heads(layout, level, progress, direct, delayed, count, tile);

  SeriesPair block{direct, delayed, count, 0, 0, &prefetch};
  block.most_direct = measure(level.storage, direct, count, lanes, totals);
  const std::uint64_t most = level.separate
                                 ? measure(level.storage, delayed, count, lanes, totals + lanes)
                                 : block.most_direct;
  // Blocks are no shorter than the history, which therefore lies in this block and the previous
  // one.
  block.most_delayed = std::max(most, progress.recent);
  progress.recent = most;
  progress.largest = std::max(progress.largest, most);
  refuse_overflow(layout, level, progress, tile);

#if defined(TAUTLINE_AUTOCORRELATE_VNNI)
  if (level.storage == Storage::bytes) {
    multiply_bytes(layout, level, block, reinterpret_cast<std::uint64_t*>(tile + level.sums_at),
                   scratch);
  } else {
    multiply(layout, level, block, tile, scratch);
  }
#else
  multiply(layout, level, block, tile, scratch);
#endif
  progress.done += count;
  if (l + 1 == layout.levels.size()) return;

  const Level& next = layout.levels[l + 1];
  Progress& after = reinterpret_cast<Progress*>(tile)[l + 1];
  coarsen(layout, level, next, direct, 0, tile + next.direct_at, after.pending, count / 2);
  if (next.separate)
    coarsen(layout, level, next, tile + level.delayed_at, level.history - level.delay,
            tile + next.delayed_at, next.history + after.pending, count / 2);
  after.pending += count / 2;
}

/// Copies the end of a full block to the history of the next block.
void keep_history(const Layout& layout, std::size_t l, std::byte* tile) {
  const Level& level = layout.levels[l];
  std::byte* delayed = tile + level.delayed_at;
  std::memcpy(delayed, delayed + block_bytes(layout, level, layout.block),
              block_bytes(layout, level, level.history));
  reinterpret_cast<Progress*>(tile)[l].pending = 0;
}

/// Clears the block behind the pending samples up to complete vectors.
void pad_block(const Layout& layout, const Level& level, std::size_t count, std::byte* block) {
  const std::size_t end = (count + 63) / 64 * 64;
  const std::size_t group = group_of(level.storage);
  const std::size_t whole = (count + group - 1) / group * group;
  std::memset(block + block_bytes(layout, level, whole), 0,
              block_bytes(layout, level, end - whole));
  const std::size_t size = bytes_of(level.storage);
  for (std::size_t t = count; t < whole; ++t)
    for (std::size_t lane = 0; lane < layout.lanes; ++lane)
      std::memset(block + place_of(level.storage, layout.lanes, t, lane) * size, 0, size);
}

void flush(const Layout& layout, std::byte* tile, std::byte* scratch) {
  Prefetch nothing{scratch, 0};
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    const Level& level = layout.levels[l];
    const std::size_t count = reinterpret_cast<Progress*>(tile)[l].pending;
    pad_block(layout, level, count,
              tile + level.delayed_at + block_bytes(layout, level, level.history));
    if (level.separate) pad_block(layout, level, count, tile + level.direct_at);
    multiply_level(layout, l, tile, scratch, nothing);
  }
}

/// Multiplies full blocks, from the first level on.
void multiply_full(const Layout& layout, std::byte* tile, std::byte* scratch, Prefetch& prefetch) {
  const auto* progress = reinterpret_cast<const Progress*>(tile);
  for (std::size_t l = 0; l < layout.levels.size() && progress[l].pending == layout.block; ++l) {
    multiply_level(layout, l, tile, scratch, prefetch);
    keep_history(layout, l, tile);
  }
}

void feed_planes(const Layout& layout, std::byte* tile, std::byte* scratch, const Planes& planes) {
  const Level& level = layout.levels[0];
  auto& progress = *reinterpret_cast<Progress*>(tile);
  std::byte* delayed = tile + level.delayed_at + block_bytes(layout, level, level.history);
  Prefetch nothing{scratch, 0};
  for (std::size_t t = 0; t < planes.count;) {
    const std::size_t count = std::min(layout.block - progress.pending, planes.count - t);
    store_planes(level, planes.delayed_low + 64 * t, planes.delayed_high + 64 * t, count, delayed,
                 progress.pending);
    if (level.separate)
      store_planes(level, planes.direct_low + 64 * t, planes.direct_high + 64 * t, count,
                   tile + level.direct_at, progress.pending);
    progress.pending += count;
    t += count;
    multiply_full(layout, tile, scratch, nothing);
  }
}

#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
#include "tautline/stages/autocorrelate/cpu/interleave-inl.h"
#endif

template <class Count>
void feed_counts(const Layout& layout, std::byte* tile, std::byte* scratch, const Input& input) {
  const Level& level = layout.levels[0];
  auto* progress = reinterpret_cast<Progress*>(tile);
  const auto* rows = static_cast<const Count*>(input.rows);
  std::byte* delayed = tile + level.delayed_at + block_bytes(layout, level, level.history);
  Prefetch nothing{scratch, 0};
  for (std::size_t t = 0; t < input.count;) {
    const std::size_t count = std::min(layout.block - progress[0].pending, input.count - t);
    const Count* from = rows + static_cast<std::ptrdiff_t>(t) * input.row_stride;
    store_series(layout, level, from, input, input.a, count, delayed, progress[0].pending);
    if (level.separate)
      store_series(layout, level, from, input, input.b, count, tile + level.direct_at,
                   progress[0].pending);
    progress[0].pending += count;
    t += count;
    multiply_full(layout, tile, scratch, nothing);
  }
}

void feed(const Layout& layout, std::byte* tile, std::byte* scratch, const Input& input) {
  switch (layout.config.type) {
    case SampleType::u8:
      feed_counts<std::uint8_t>(layout, tile, scratch, input);
      return;
    case SampleType::u16:
      feed_counts<std::uint16_t>(layout, tile, scratch, input);
      return;
    case SampleType::u32:
      feed_counts<std::uint32_t>(layout, tile, scratch, input);
      return;
    case SampleType::f64:
      feed_counts<double>(layout, tile, scratch, input);
      return;
    default:
      feed_counts<float>(layout, tile, scratch, input);
      return;
  }
}
