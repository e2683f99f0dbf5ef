// The first levels of a group of 64 sensors: fills blocks of rows, multiplies full ones
// (cpu/amx/products-inl.h), and adds their coarse rows to the next pair of levels.
//
// Included by files that compile with AVX-512 F, BW, DQ, VL and VNNI.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "tautline/stages/autocorrelate/cpu/amx/kernels.h"
#include "tautline/stages/autocorrelate/cpu/amx/products-inl.h"

namespace tautline::stages::autocorrelate::cpu::amx {

/// Coarse rows for the tiles that are made together.
inline constexpr std::size_t kCoarseRows = 64;

/// Places in a worker's scratch memory, in bytes from its start.
struct Scratch {
  explicit Scratch(const AmxLayout& layout) {
    std::size_t most = 0;
    for (const LevelPair& pair : layout.pairs) most = std::max(most, pair.block);
    left = layout.rest.scratch_bytes;
    products = left + 2 * most / kAmxStep * kTileBytes;
    interleaved = products + 3 * kProducts * sizeof(std::uint32_t);
    coarse = interleaved + kGroupTiles * kTileBytes;
    series = coarse + 4 * kCoarseRows * kGroupSensors;
    bytes = series + 2 * kGroupSensors * layout.series_words * 4;
  }
  std::size_t left, products, interleaved, coarse, series, bytes;
};

/// A group that is being processed.
struct Work {
  const AmxLayout& layout;
  const Kernels& tiles;
  std::byte* group;
  std::byte* scratch;
  std::byte* rows[kMaxLevelPairs];  ///< [pair], in the group or in a worker's memory
  std::size_t sensors;
  Scratch at;

  LevelPairProgress& progress(std::size_t p) const {
    return reinterpret_cast<LevelPairProgress*>(group)[p];
  }
  /// Row 0 of a plane of the block.
  std::uint8_t* plane(std::size_t p, std::size_t plane) const {
    return reinterpret_cast<std::uint8_t*>(rows[p]) + plane * layout.pairs[p].plane_bytes() +
           kAmxHistory * kGroupSensors;
  }
};

/// Makes `count` rows, low and high bytes of the sums of four rows each. `high` is null for rows of
/// one plane.
inline void coarsen(const std::uint8_t* low, const std::uint8_t* high, std::size_t count,
                    std::uint8_t* out_low, std::uint8_t* out_high) {
  const __m512i minus_one = _mm512_set1_epi8(-1);
  for (std::size_t j = 0; j < count; ++j, low += 4 * kGroupSensors) {
    __m512i sum = load(low), carries = _mm512_setzero_si512();
#pragma GCC unroll 3
    for (std::size_t i = 1; i < 4; ++i) {
      const __m512i next = load(low + i * kGroupSensors);
      sum = _mm512_add_epi8(sum, next);
      carries =
          _mm512_mask_sub_epi8(carries, _mm512_cmplt_epu8_mask(sum, next), carries, minus_one);
    }
    if (high != nullptr) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i)
        carries = _mm512_add_epi8(carries, load(high + i * kGroupSensors));
      high += 4 * kGroupSensors;
    }
    _mm512_storeu_si512(out_low + j * kGroupSensors, sum);
    _mm512_storeu_si512(out_high + j * kGroupSensors, carries);
  }
}

/// The bits that are set in any byte of `count` rows.
inline std::uint64_t bits_in(const std::uint8_t* rows, std::size_t count) {
  __m512i bits = _mm512_setzero_si512();
  for (std::size_t t = 0; t < count; ++t)
    bits = _mm512_or_si512(bits, load(rows + t * kGroupSensors));
  alignas(64) std::uint64_t words[8];
  _mm512_store_si512(words, bits);
  std::uint64_t all = 0;
  for (const std::uint64_t word : words) all |= word;
  all |= all >> 32;
  all |= all >> 16;
  return (all | all >> 8) & 0xff;
}

inline void add_totals(const PlaneTotals& totals, std::size_t plane, std::uint64_t* to) {
  for (std::size_t v = 0; v < kGroupTiles; ++v)
    for (std::size_t i = 0; i < kLanes; ++i)
      to[interleaved_sensor(v, i)] += std::uint64_t{totals.sums[v][i]} << 8 * plane;
}

/// Every sum is at most the largest sample times the sum of all samples. The odd level's samples
/// are sums of two rows, hence 2^62.
inline void refuse_overflow(LevelPairProgress& progress, const std::uint64_t* totals) {
  const std::uint64_t most = *std::max_element(totals, totals + kGroupSensors);
  if (most >= (std::uint64_t{1} << 62) / std::max<std::uint64_t>(progress.largest, 1))
    progress.refused = 1;
}

/// Multiplies the first `count` rows, an even number, of a pair's block. The rows behind them are
/// zero up to a multiple of kAmxStep.
template <class Tiles>
void multiply_pair(const Work& work, std::size_t p, std::size_t count) {
  const LevelPair& pair = work.layout.pairs[p];
  LevelPairProgress& progress = work.progress(p);
  const std::size_t steps = (count + kAmxStep - 1) / kAmxStep;
  const std::size_t quarter = steps * kAmxStep / 4;
  const std::size_t right_at = 16 * (pair.shifts - 1), lead = right_at + pair.delay;
  const std::size_t words = (lead + quarter + 15) / 16 * 16;
  const std::size_t series_words = work.layout.series_words;
  std::byte* interleaved = work.scratch + work.at.interleaved;
  std::byte* series[2] = {work.scratch + work.at.series,
                          work.scratch + work.at.series + kGroupSensors * series_words * 4};
  auto* totals = reinterpret_cast<std::uint64_t*>(work.group + pair.totals_at);

  const std::uint64_t bits = pair.planes == 2 ? bits_in(work.plane(p, 1), count) : 0;
  const bool both = (bits | progress.recent) != 0;
  progress.recent = bits;
  progress.largest = std::max(progress.largest, bits << 8 | 0xff);
  for (std::size_t plane = 0; plane < (both ? 2u : 1u); ++plane)
    add_totals(interleave(work.plane(p, plane), quarter, lead, words, series_words, interleaved,
                          series[plane]),
               plane, totals);
  refuse_overflow(progress, totals);

  Tiles tiles;
  std::byte* left_low = work.scratch + work.at.left;
  std::byte* left_high = left_low + steps * kTileBytes;
  auto* products = reinterpret_cast<std::uint32_t*>(work.scratch + work.at.products);
  auto* sums = reinterpret_cast<std::uint64_t*>(work.group + pair.sums_at);
  for (std::size_t sensor = 0; sensor < work.sensors; ++sensor, sums += 2 * kAmxLags) {
    const std::byte* low = series[0] + sensor * series_words * 4;
    const std::byte* high = series[1] + sensor * series_words * 4;
    make_left(low + lead * 4, steps, left_low);
    if (both) {
      make_left(high + lead * 4, steps, left_high);
      multiply_halves(tiles, {left_low, left_high, low + right_at * 4, high + right_at * 4}, steps,
                      pair.shifts, products);
    } else {
      multiply_bytes(tiles, left_low, low + right_at * 4, steps, pair.shifts, products);
    }
    add_products(pair, products, both ? 3 : 1, sums);
  }
}

/// Adds `count` rows, the sums of four rows each, to the next pair's block.
inline void coarsen_to_pair(const Work& work, std::size_t p, std::size_t count) {
  const bool high = work.layout.pairs[p].planes == 2;
  LevelPairProgress& after = work.progress(p + 1);
  const std::size_t at = after.pending * kGroupSensors;
  coarsen(work.plane(p, 0), high ? work.plane(p, 1) : nullptr, count, work.plane(p + 1, 0) + at,
          work.plane(p + 1, 1) + at);
  after.pending += count;
}

/// Adds `count` rows, the sums of four rows each, to the tiles of the later levels.
inline void coarsen_to_tiles(const Work& work, std::size_t p, std::size_t count) {
  const Layout& rest = work.layout.rest;
  const bool high = work.layout.pairs[p].planes == 2;
  const bool separate = rest.levels[0].separate;
  constexpr std::size_t kPart = kCoarseRows * kGroupSensors;
  auto* coarse = reinterpret_cast<std::uint8_t*>(work.scratch + work.at.coarse);
  const auto delay = static_cast<std::ptrdiff_t>(work.layout.rest_delay * kGroupSensors);
  for (std::size_t j = 0; j < count; j += kCoarseRows) {
    const std::size_t some = std::min(kCoarseRows, count - j);
    const std::uint8_t* low = work.plane(p, 0) + 4 * j * kGroupSensors;
    const std::uint8_t* up = high ? work.plane(p, 1) + 4 * j * kGroupSensors : nullptr;
    coarsen(low - delay, high ? up - delay : nullptr, some, coarse, coarse + kPart);
    if (separate) coarsen(low, up, some, coarse + 2 * kPart, coarse + 3 * kPart);
    for (std::size_t tile = 0; tile * kLanes < work.sensors; ++tile) {
      const std::uint8_t* from = coarse + tile * kLanes;
      work.tiles.feed_planes(rest, work.group + work.layout.tiles_at + tile * rest.tile_bytes,
                             work.scratch,
                             {from + 2 * kPart, from + 3 * kPart, from, from + kPart, some});
    }
  }
}

inline void coarsen_to_next(const Work& work, std::size_t p, std::size_t count) {
  if (p + 1 < work.layout.pairs.size()) {
    coarsen_to_pair(work, p, count);
  } else if (!work.layout.rest.levels.empty()) {
    coarsen_to_tiles(work, p, count);
  }
}

/// Keeps the first rows of a run for the monitors.
inline void keep_first(const Work& work, std::size_t p, std::size_t count) {
  const LevelPair& pair = work.layout.pairs[p];
  const std::uint64_t done = work.progress(p).done;
  if (done >= kAmxHistory) return;
  const std::size_t rows = std::min<std::size_t>(count, kAmxHistory - done);
  for (std::size_t plane = 0; plane < pair.planes; ++plane)
    std::memcpy(work.group + pair.first_at + (plane * kAmxHistory + done) * kGroupSensors,
                work.plane(p, plane), rows * kGroupSensors);
}

/// Multiplies a full block and moves its end to the history.
template <class Tiles>
void finish_block(const Work& work, std::size_t p) {
  const LevelPair& pair = work.layout.pairs[p];
  LevelPairProgress& progress = work.progress(p);
  keep_first(work, p, pair.block);
  multiply_pair<Tiles>(work, p, pair.block);
  coarsen_to_next(work, p, pair.block / 4);
  for (std::size_t plane = 0; plane < pair.planes; ++plane) {
    std::uint8_t* block = work.plane(p, plane);
    std::memcpy(block - kAmxHistory * kGroupSensors,
                block + (pair.block - kAmxHistory) * kGroupSensors, kAmxHistory * kGroupSensors);
  }
  progress.done += pair.block;
  progress.pending = 0;
}

/// Copies history and pending rows of all pairs between a group and a worker's memory.
inline void copy_rows(const Work& work, bool back) {
  std::size_t p = 0;
  for (const LevelPair& pair : work.layout.pairs) {
    const std::size_t bytes = (kAmxHistory + work.progress(p).pending) * kGroupSensors;
    for (std::size_t plane = 0; plane < pair.planes; ++plane) {
      std::byte* own = work.group + pair.rows_at + plane * pair.plane_bytes();
      std::byte* used = work.rows[p] + plane * pair.plane_bytes();
      std::memcpy(back ? own : used, back ? used : own, bytes);
    }
    ++p;
  }
}

inline Work start(const AmxLayout& layout, const Kernels& tiles, std::byte* group,
                  std::byte* scratch, std::byte* rows, std::size_t sensors) {
  Work work{layout, tiles, group, scratch, {}, sensors, Scratch(layout)};
  for (std::size_t p = 0; p < layout.pairs.size(); ++p) {
    const LevelPair& pair = layout.pairs[p];
    work.rows[p] = rows == nullptr ? group + pair.rows_at : rows;
    if (rows != nullptr) rows += pair.planes * pair.plane_bytes();
  }
  return work;
}

/// Stores `count` rows from row `first` of the input in the first pair's block.
inline void store_rows(const AmxInput& input, std::size_t first, std::size_t count,
                       std::uint8_t* block) {
  constexpr std::size_t kPrefetchRows = 64;  // rows; not tuned
  const __mmask64 mask = input.sensors == 64 ? ~__mmask64{0} : (__mmask64{1} << input.sensors) - 1;
  for (std::size_t t = 0; t < count; ++t, block += kGroupSensors) {
    const std::uint8_t* row =
        input.rows + static_cast<std::ptrdiff_t>(first + t) * input.row_stride;
    if (input.sensor_stride == 1) {
      // The hardware prefetcher does not follow such large strides.
      if (first + t + kPrefetchRows < input.count)
        _mm_prefetch(row + static_cast<std::ptrdiff_t>(kPrefetchRows) * input.row_stride,
                     _MM_HINT_T0);
      _mm512_store_si512(block, _mm512_maskz_loadu_epi8(mask, row));
      continue;
    }
    std::memset(block, 0, kGroupSensors);
    for (std::size_t s = 0; s < input.sensors; ++s)
      block[s] = row[static_cast<std::ptrdiff_t>(s) * input.sensor_stride];
  }
}

template <class Tiles>
void feed(const AmxLayout& layout, const Kernels& tiles, std::byte* group, std::byte* scratch,
          std::byte* rows, const AmxInput& input) {
  const Work work = start(layout, tiles, group, scratch, rows, input.sensors);
  if (rows != nullptr) copy_rows(work, false);
  LevelPairProgress& progress = work.progress(0);
  for (std::size_t t = 0; t < input.count;) {
    const std::size_t count =
        std::min<std::size_t>(layout.pairs[0].block - progress.pending, input.count - t);
    store_rows(input, t, count, work.plane(0, 0) + progress.pending * kGroupSensors);
    progress.pending += count;
    t += count;
    for (std::size_t p = 0;
         p < layout.pairs.size() && work.progress(p).pending == layout.pairs[p].block; ++p)
      finish_block<Tiles>(work, p);
  }
  if (rows != nullptr) copy_rows(work, true);
}

/// Adds the even level's products of the last row of an odd number. The odd level's last sample is
/// not complete and has no products.
inline void multiply_last_row(const Work& work, std::size_t p, std::size_t row) {
  const LevelPair& pair = work.layout.pairs[p];
  const auto value = [&](std::size_t back, std::size_t sensor) {
    const std::ptrdiff_t at =
        (static_cast<std::ptrdiff_t>(row) - static_cast<std::ptrdiff_t>(back)) *
            static_cast<std::ptrdiff_t>(kGroupSensors) +
        static_cast<std::ptrdiff_t>(sensor);
    return std::uint64_t{work.plane(p, 0)[at]} +
           (pair.planes == 2 ? std::uint64_t{work.plane(p, 1)[at]} << 8 : 0);
  };
  auto* sums = reinterpret_cast<std::uint64_t*>(work.group + pair.sums_at);
  auto* totals = reinterpret_cast<std::uint64_t*>(work.group + pair.totals_at);
  for (std::size_t sensor = 0; sensor < work.sensors; ++sensor, sums += 2 * kAmxLags) {
    const std::uint64_t last = value(0, sensor);
    totals[sensor] += last;
    for (std::size_t i = 0; i < pair.ranges[0].steps; ++i)
      sums[i] += last * value(pair.delay + pair.ranges[0].first_steps + i, sensor);
  }
}

template <class Tiles>
void flush(const AmxLayout& layout, const Kernels& tiles, std::byte* group, std::byte* scratch,
           std::size_t sensors) {
  const Work work = start(layout, tiles, group, scratch, nullptr, sensors);
  for (std::size_t p = 0; p < layout.pairs.size(); ++p) {
    const LevelPair& pair = layout.pairs[p];
    const std::size_t count = work.progress(p).pending, even = count / 2 * 2;
    const std::size_t end = (even + kAmxStep - 1) / kAmxStep * kAmxStep;
    keep_first(work, p, count);
    alignas(64) std::uint8_t last[2][kGroupSensors];
    for (std::size_t plane = 0; plane < pair.planes; ++plane) {
      std::uint8_t* rows = work.plane(p, plane);
      std::memset(rows + count * kGroupSensors, 0,
                  (std::max(end, count) + 16 - count) * kGroupSensors);
      std::memcpy(last[plane], rows + even * kGroupSensors, kGroupSensors);
    }
    if (count != even) multiply_last_row(work, p, even);
    for (std::size_t plane = 0; plane < pair.planes; ++plane)
      std::memset(work.plane(p, plane) + even * kGroupSensors, 0, kGroupSensors);
    if (even != 0) multiply_pair<Tiles>(work, p, even);
    for (std::size_t plane = 0; plane < pair.planes; ++plane)
      std::memcpy(work.plane(p, plane) + even * kGroupSensors, last[plane], kGroupSensors);
    coarsen_to_next(work, p, count / 4);
  }
  if (layout.rest.levels.empty()) return;
  for (std::size_t tile = 0; tile * kLanes < sensors; ++tile)
    tiles.flush(layout.rest, group + layout.tiles_at + tile * layout.rest.tile_bytes, scratch);
}

inline std::size_t scratch_bytes(const AmxLayout& layout) {
  return Scratch(layout).bytes;
}

template <class Tiles>
constexpr AmxKernels kernels(const char* name, const Kernels& tiles) {
  return {name, tiles, scratch_bytes, feed<Tiles>, flush<Tiles>};
}

}  // namespace tautline::stages::autocorrelate::cpu::amx
