// The first levels of 64 sensors in matrix products, over any implementation of the tile
// operations: the real instructions (cpu_amx.cpp), or a plain emulation of them for a test on any
// machine with VNNI.
//
// Only for files that compile with AVX-512 F, BW, DQ, VL and VNNI. `Tiles` holds eight tiles of 16
// rows x 64 bytes from its construction to its destruction, and has
//   zero<T>()
//   load<T>(bytes)               tile T = 1024 bytes, 64 a row
//   store<T>(bytes, row_bytes)
//   dot<T, A, B>()               T[m][n] += sum over k, q of A[m][4k+q] B[k][4n+q], unsigned bytes
//
// A block of rows is cut into four segments, whose bytes at the same place u lie in one word. With
// words X(u) of one sensor, a step multiplies
//   A[m][r] = X(16 r + m),  B_s[r][n] = X(16 (r - s) + n),  16 values of r,
// so that C_s[m][n] holds products at the lag 16 s + m - n: every lag that the matrices cover
// occurs once for each m, which is the phase of the later sample. The sums over m are the even
// level's; the odd level's sample is one of even and one of odd phase.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "tautline/stages/autocorrelate/cpu_front.h"

namespace tautline::stages::autocorrelate::cpu::front {

inline constexpr std::size_t kTileBytes = 1024;
/// A row of products: all matrices side by side, the last one first, and a line more so that rows
/// begin in different sets of a cache. The product of phase m at a lag is word m + 96 - lag.
inline constexpr std::size_t kProductRow = 16 * (kFrontShifts + 2);
inline constexpr std::size_t kLagZero = 16 * (kFrontShifts - 1);
inline constexpr std::size_t kProducts = 16 * kProductRow;

/// Rows of the next pair, or of the rest, made at a time.
inline constexpr std::size_t kCoarseRows = 64;

/// A worker's scratch, in bytes from its start.
struct Scratch {
  explicit Scratch(const FrontLayout& layout) {
    std::size_t most = 0;
    for (const FrontPair& pair : layout.pairs) most = std::max(most, pair.block);
    left = layout.rest.scratch_bytes;
    products = left + 2 * most / kFrontStep * kTileBytes;
    woven = products + 3 * kProducts * sizeof(std::uint32_t);
    coarse = woven + kGroupTiles * kTileBytes;
    series = coarse + 4 * kCoarseRows * kGroupSensors;
    bytes = series + 2 * kGroupSensors * layout.series_words * 4;
  }
  std::size_t left, products, woven, coarse, series, bytes;
};

/// A group at work.
struct Work {
  const FrontLayout& layout;
  const Kernels& tiles;
  std::byte* group;
  std::byte* scratch;
  std::byte* rows[kFrontMaxPairs];  ///< of each pair: in the group, or in a worker's memory
  std::size_t sensors;
  Scratch at;

  FrontProgress& progress(std::size_t p) const {
    return reinterpret_cast<FrontProgress*>(group)[p];
  }
  /// Row 0 of the block.
  std::uint8_t* plane(std::size_t p, std::size_t plane) const {
    return reinterpret_cast<std::uint8_t*>(rows[p]) + plane * layout.pairs[p].plane_bytes() +
           kFrontHistory * kGroupSensors;
  }
};

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}

/// The sensors of a weave's vector v, lane by lane: 16 (lane / 4) + 4 v + lane % 4.
constexpr std::size_t woven_sensor(std::size_t v, std::size_t lane) {
  return 16 * (lane / 4) + 4 * v + lane % 4;
}

/// 16 words of 16 rows become 16 rows of words.
[[gnu::always_inline]] inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  // Words j + 4 (lane of 128 bits) of four rows.
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i a = _mm512_shuffle_i32x4(x[j], x[4 + j], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(x[j], x[4 + j], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0xdd);
    y[j] = _mm512_shuffle_i32x4(a, c, 0x88);
    y[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
    y[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
    y[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

/// Sums of a plane's bytes, as vectors of a weave.
struct PlaneTotals {
  alignas(64) std::uint32_t sums[kGroupTiles][kLanes];
};

/// One plane's series of words: word w of a sensor is X(w - lead), for `words` (a multiple of 16).
/// `rows` is X(0) of the first segment. Sums what lies in the block.
inline PlaneTotals weave(const std::uint8_t* rows, std::size_t segment, std::size_t lead,
                         std::size_t words, std::size_t series_words, std::byte* woven,
                         std::byte* series) {
  __m512i sums[kGroupTiles];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  const std::size_t step = segment * kGroupSensors;
  const std::uint8_t* from = rows - lead * kGroupSensors;
  for (std::size_t w = 0; w < words; w += 16) {
    for (std::size_t i = 0; i < 16; ++i, from += kGroupSensors) {
      const __m512i a = load(from), b = load(from + step);
      const __m512i c = load(from + 2 * step), d = load(from + 3 * step);
      const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
      const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
      const __m512i x[kGroupTiles] = {
          _mm512_unpacklo_epi16(ab_low, cd_low), _mm512_unpackhi_epi16(ab_low, cd_low),
          _mm512_unpacklo_epi16(ab_high, cd_high), _mm512_unpackhi_epi16(ab_high, cd_high)};
      const bool inside = w + i >= lead && w + i < lead + segment;
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kGroupTiles; ++v) {
        _mm512_store_si512(woven + v * kTileBytes + i * 64, x[v]);
        if (inside) sums[v] = _mm512_dpbusd_epi32(sums[v], x[v], ones);
      }
    }
    for (std::size_t v = 0; v < kGroupTiles; ++v) {
      __m512i x[16];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i) x[i] = load(woven + v * kTileBytes + i * 64);
      transpose(x);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i)
        _mm512_store_si512(series + (woven_sensor(v, i) * series_words + w) * 4, x[i]);
    }
  }
  PlaneTotals totals;
  for (std::size_t v = 0; v < kGroupTiles; ++v) _mm512_store_si512(totals.sums[v], sums[v]);
  return totals;
}

/// The left factors of all steps: A[m][r] = X(16 r + m); `series` is X(0).
inline void make_left(const std::byte* series, std::size_t steps, std::byte* left) {
  for (std::size_t g = 0; g < steps; ++g, series += kTileBytes, left += kTileBytes) {
    __m512i x[16];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < 16; ++r) x[r] = load(series + r * 64);
    transpose(x);
#pragma GCC unroll 16
    for (std::size_t m = 0; m < 16; ++m) _mm512_store_si512(left + m * 64, x[m]);
  }
}

/// Where the matrix of shift s begins in a row of products.
inline std::uint32_t* matrix(std::uint32_t* products, std::size_t s) {
  return products + 16 * (kFrontShifts - 1 - s);
}

/// Products of bytes at `kShifts` shifts from `s` on. `right` is B_0 of the first step.
template <class Tiles, std::size_t kShifts>
void multiply_bytes(Tiles& tiles, const std::byte* left, const std::byte* right, std::size_t steps,
                    std::size_t s, std::uint32_t* products) {
  right -= s * 64;
  tiles.template zero<0>();
  if constexpr (kShifts > 1) tiles.template zero<1>();
  if constexpr (kShifts > 2) tiles.template zero<2>();
  if constexpr (kShifts > 3) tiles.template zero<3>();
  for (std::size_t g = 0; g < steps; ++g, left += kTileBytes, right += kTileBytes) {
    tiles.template load<4>(left);
    tiles.template load<5>(right);
    tiles.template dot<0, 4, 5>();
    if constexpr (kShifts > 1) {
      tiles.template load<6>(right - 64);
      tiles.template dot<1, 4, 6>();
    }
    if constexpr (kShifts > 2) {
      tiles.template load<7>(right - 128);
      tiles.template dot<2, 4, 7>();
    }
    if constexpr (kShifts > 3) {
      tiles.template load<5>(right - 192);
      tiles.template dot<3, 4, 5>();
    }
  }
  tiles.template store<0>(matrix(products, s), kProductRow * 4);
  if constexpr (kShifts > 1) tiles.template store<1>(matrix(products, s + 1), kProductRow * 4);
  if constexpr (kShifts > 2) tiles.template store<2>(matrix(products, s + 2), kProductRow * 4);
  if constexpr (kShifts > 3) tiles.template store<3>(matrix(products, s + 3), kProductRow * 4);
}

template <class Tiles>
void multiply_bytes(Tiles& tiles, const std::byte* left, const std::byte* right, std::size_t steps,
                    std::size_t shifts, std::uint32_t* products) {
  for (std::size_t s = 0; s < shifts; s += 4) {
    switch (shifts - s) {
      case 1:
        multiply_bytes<Tiles, 1>(tiles, left, right, steps, s, products);
        break;
      case 2:
        multiply_bytes<Tiles, 2>(tiles, left, right, steps, s, products);
        break;
      case 3:
        multiply_bytes<Tiles, 3>(tiles, left, right, steps, s, products);
        break;
      default:
        multiply_bytes<Tiles, 4>(tiles, left, right, steps, s, products);
    }
  }
}

/// A sensor's factors in both planes.
struct Factors {
  const std::byte *left_low, *left_high, *right_low, *right_high;
};

/// Products of low and high bytes at shift s, and at the next one when kShifts is 2. The three sums
/// of products, low x low, low x high with high x low, and high x high, have their own matrices.
template <class Tiles, std::size_t kShifts>
void multiply_halves(Tiles& tiles, Factors f, std::size_t steps, std::size_t s,
                     std::uint32_t* products) {
  constexpr bool kTwo = kShifts == 2;
  f.right_low -= s * 64;
  f.right_high -= s * 64;
  tiles.template zero<0>();
  tiles.template zero<2>();
  tiles.template zero<4>();
  if constexpr (kTwo) {
    tiles.template zero<1>();
    tiles.template zero<3>();
    tiles.template zero<5>();
  }
  for (std::size_t g = 0; g < steps; ++g) {
    const std::size_t at = g * kTileBytes;
    tiles.template load<6>(f.left_low + at);
    tiles.template load<7>(f.right_low + at);
    tiles.template dot<0, 6, 7>();
    if constexpr (kTwo) {
      tiles.template load<7>(f.right_low + at - 64);
      tiles.template dot<1, 6, 7>();
      tiles.template load<7>(f.right_high + at - 64);
      tiles.template dot<3, 6, 7>();
    }
    tiles.template load<7>(f.right_high + at);
    tiles.template dot<2, 6, 7>();
    tiles.template load<6>(f.left_high + at);
    tiles.template dot<4, 6, 7>();
    if constexpr (kTwo) {
      tiles.template load<7>(f.right_high + at - 64);
      tiles.template dot<5, 6, 7>();
      tiles.template load<7>(f.right_low + at - 64);
      tiles.template dot<3, 6, 7>();
    }
    tiles.template load<7>(f.right_low + at);
    tiles.template dot<2, 6, 7>();
  }
  tiles.template store<0>(matrix(products, s), kProductRow * 4);
  tiles.template store<2>(matrix(products + kProducts, s), kProductRow * 4);
  tiles.template store<4>(matrix(products + 2 * kProducts, s), kProductRow * 4);
  if constexpr (kTwo) {
    tiles.template store<1>(matrix(products, s + 1), kProductRow * 4);
    tiles.template store<3>(matrix(products + kProducts, s + 1), kProductRow * 4);
    tiles.template store<5>(matrix(products + 2 * kProducts, s + 1), kProductRow * 4);
  }
}

template <class Tiles>
void multiply_halves(Tiles& tiles, const Factors& factors, std::size_t steps, std::size_t shifts,
                     std::uint32_t* products) {
  std::size_t s = 0;
  for (; s + 2 <= shifts; s += 2) multiply_halves<Tiles, 2>(tiles, factors, steps, s, products);
  if (s < shifts) multiply_halves<Tiles, 1>(tiles, factors, steps, s, products);
}

/// Sums over the phases of the 16 products whose lag at phase 0 ends with `lag` + 15, the longest
/// first. With kPaired an odd phase takes the lags of the even one before it plus one.
template <bool kPaired>
__m512i sum_phases(const std::uint32_t* products, std::size_t lag_end) {
  __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  const std::uint32_t* row = products + kLagZero - lag_end;
#pragma GCC unroll 8
  for (std::size_t m = 0; m < 16; ++m) {
    const std::size_t phase = kPaired ? m / 2 * 2 : m;
    sum[m % 2] = _mm512_add_epi32(sum[m % 2], load(row + m * kProductRow + phase));
  }
  return _mm512_add_epi32(sum[0], sum[1]);
}

inline __m512i reversed(__m512i x) {
  const __m512i order = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_permutexvar_epi32(order, x);
}

inline void add_to(std::uint64_t* sums, __m512i x) {
  _mm512_storeu_si512(sums, _mm512_add_epi64(load(sums), x));
}

/// Adds products to a sensor's sums [2][kFrontLags]; those of plane j are worth 2^(8 j).
inline void add_products(const FrontPair& pair, const std::uint32_t* products, std::size_t kinds,
                         std::uint64_t* sums) {
  const Rung& even = pair.rungs[0];
  for (std::size_t i = 0; i < even.steps; i += 16)
    for (std::size_t j = 0; j < kinds; ++j) {
      const __m512i x =
          reversed(sum_phases<false>(products + j * kProducts, even.first_steps + i + 15));
      const auto shift = static_cast<unsigned>(8 * j);
      const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(x));
      const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(x, 1));
      add_to(sums + i, _mm512_slli_epi64(low, shift));
      add_to(sums + i + 8, _mm512_slli_epi64(high, shift));
    }
  if (!pair.second) return;
  sums += kFrontLags;
  const __m512i low_words = _mm512_set1_epi64(0xffffffff);
  for (std::size_t i = 0; i < pair.rungs[1].steps; i += 8)
    for (std::size_t j = 0; j < kinds; ++j) {
      // Lags second_lag - 1 + 2 i ... of even phases, in pairs.
      const __m512i x =
          reversed(sum_phases<true>(products + j * kProducts, pair.second_lag - 1 + 2 * i + 15));
      const __m512i both =
          _mm512_add_epi64(_mm512_and_si512(x, low_words), _mm512_srli_epi64(x, 32));
      add_to(sums + i, _mm512_slli_epi64(both, static_cast<unsigned>(8 * j)));
    }
}

/// Four rows become one, `count` times: low and high bytes of sums of 16-bit rows.
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

/// Bits that are set in any of `count` rows.
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
      to[woven_sensor(v, i)] += std::uint64_t{totals.sums[v][i]} << 8 * plane;
}

/// Any sum is at most the largest sample times the sum of all, and the odd level's samples are two
/// rows.
inline void refuse_overflow(FrontProgress& progress, const std::uint64_t* totals) {
  const std::uint64_t most = *std::max_element(totals, totals + kGroupSensors);
  if (most >= (std::uint64_t{1} << 62) / std::max<std::uint64_t>(progress.largest, 1))
    progress.refused = 1;
}

/// Multiplies the first `count` rows of a pair's block, which is even; zeros follow them up to a
/// whole number of steps.
template <class Tiles>
void multiply_pair(const Work& work, std::size_t p, std::size_t count) {
  const FrontPair& pair = work.layout.pairs[p];
  FrontProgress& progress = work.progress(p);
  const std::size_t steps = (count + kFrontStep - 1) / kFrontStep;
  const std::size_t segment = steps * kFrontStep / 4;
  const std::size_t right_at = 16 * (pair.shifts - 1), lead = right_at + pair.delay;
  const std::size_t words = (lead + segment + 15) / 16 * 16;
  const std::size_t series_words = work.layout.series_words;
  std::byte* woven = work.scratch + work.at.woven;
  std::byte* series[2] = {work.scratch + work.at.series,
                          work.scratch + work.at.series + kGroupSensors * series_words * 4};
  auto* totals = reinterpret_cast<std::uint64_t*>(work.group + pair.totals_at);

  const std::uint64_t bits = pair.planes == 2 ? bits_in(work.plane(p, 1), count) : 0;
  const bool both = (bits | progress.recent) != 0;
  progress.recent = bits;
  progress.largest = std::max(progress.largest, bits << 8 | 0xff);
  for (std::size_t plane = 0; plane < (both ? 2u : 1u); ++plane)
    add_totals(
        weave(work.plane(p, plane), segment, lead, words, series_words, woven, series[plane]),
        plane, totals);
  refuse_overflow(progress, totals);

  Tiles tiles;
  std::byte* left_low = work.scratch + work.at.left;
  std::byte* left_high = left_low + steps * kTileBytes;
  auto* products = reinterpret_cast<std::uint32_t*>(work.scratch + work.at.products);
  auto* sums = reinterpret_cast<std::uint64_t*>(work.group + pair.sums_at);
  for (std::size_t sensor = 0; sensor < work.sensors; ++sensor, sums += 2 * kFrontLags) {
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

/// Hands `count` rows, made of four each, to the next pair.
inline void hand_to_pair(const Work& work, std::size_t p, std::size_t count) {
  const bool high = work.layout.pairs[p].planes == 2;
  FrontProgress& after = work.progress(p + 1);
  const std::size_t at = after.pending * kGroupSensors;
  coarsen(work.plane(p, 0), high ? work.plane(p, 1) : nullptr, count, work.plane(p + 1, 0) + at,
          work.plane(p + 1, 1) + at);
  after.pending += count;
}

/// The same for the tiles of the rest.
inline void hand_to_rest(const Work& work, std::size_t p, std::size_t count) {
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
      work.tiles.push(rest, work.group + work.layout.tiles_at + tile * rest.tile_bytes,
                      work.scratch, {from + 2 * kPart, from + 3 * kPart, from, from + kPart, some});
    }
  }
}

inline void hand_on(const Work& work, std::size_t p, std::size_t count) {
  if (p + 1 < work.layout.pairs.size()) {
    hand_to_pair(work, p, count);
  } else if (!work.layout.rest.levels.empty()) {
    hand_to_rest(work, p, count);
  }
}

/// Keeps the rows that begin a run.
inline void keep_first(const Work& work, std::size_t p, std::size_t count) {
  const FrontPair& pair = work.layout.pairs[p];
  const std::uint64_t done = work.progress(p).done;
  if (done >= kFrontHistory) return;
  const std::size_t rows = std::min<std::size_t>(count, kFrontHistory - done);
  for (std::size_t plane = 0; plane < pair.planes; ++plane)
    std::memcpy(work.group + pair.first_at + (plane * kFrontHistory + done) * kGroupSensors,
                work.plane(p, plane), rows * kGroupSensors);
}

/// Multiplies a full block and makes room for the next one.
template <class Tiles>
void take_block(const Work& work, std::size_t p) {
  const FrontPair& pair = work.layout.pairs[p];
  FrontProgress& progress = work.progress(p);
  keep_first(work, p, pair.block);
  multiply_pair<Tiles>(work, p, pair.block);
  hand_on(work, p, pair.block / 4);
  for (std::size_t plane = 0; plane < pair.planes; ++plane) {
    std::uint8_t* block = work.plane(p, plane);
    std::memcpy(block - kFrontHistory * kGroupSensors,
                block + (pair.block - kFrontHistory) * kGroupSensors,
                kFrontHistory * kGroupSensors);
  }
  progress.done += pair.block;
  progress.pending = 0;
}

/// Copies history and waiting rows of all pairs between a group and a worker's memory.
inline void copy_rows(const Work& work, bool back) {
  std::size_t p = 0;
  for (const FrontPair& pair : work.layout.pairs) {
    const std::size_t bytes = (kFrontHistory + work.progress(p).pending) * kGroupSensors;
    for (std::size_t plane = 0; plane < pair.planes; ++plane) {
      std::byte* held = work.group + pair.rows_at + plane * pair.plane_bytes();
      std::byte* used = work.rows[p] + plane * pair.plane_bytes();
      std::memcpy(back ? held : used, back ? used : held, bytes);
    }
    ++p;
  }
}

inline Work start(const FrontLayout& layout, const Kernels& tiles, std::byte* group,
                  std::byte* scratch, std::byte* rows, std::size_t sensors) {
  Work work{layout, tiles, group, scratch, {}, sensors, Scratch(layout)};
  for (std::size_t p = 0; p < layout.pairs.size(); ++p) {
    const FrontPair& pair = layout.pairs[p];
    work.rows[p] = rows == nullptr ? group + pair.rows_at : rows;
    if (rows != nullptr) rows += pair.planes * pair.plane_bytes();
  }
  return work;
}

/// Stores rows of the input in the first pair's block.
inline void stage(const FrontInput& input, std::size_t first, std::size_t count,
                  std::uint8_t* block) {
  constexpr std::size_t kAhead = 64;  // rows; not tuned
  const __mmask64 mask = input.sensors == 64 ? ~__mmask64{0} : (__mmask64{1} << input.sensors) - 1;
  for (std::size_t t = 0; t < count; ++t, block += kGroupSensors) {
    const std::uint8_t* row =
        input.rows + static_cast<std::ptrdiff_t>(first + t) * input.row_stride;
    if (input.sensor_stride == 1) {
      // Rows are far apart: the processor does not foresee them.
      if (first + t + kAhead < input.count)
        _mm_prefetch(row + static_cast<std::ptrdiff_t>(kAhead) * input.row_stride, _MM_HINT_T0);
      _mm512_store_si512(block, _mm512_maskz_loadu_epi8(mask, row));
      continue;
    }
    std::memset(block, 0, kGroupSensors);
    for (std::size_t s = 0; s < input.sensors; ++s)
      block[s] = row[static_cast<std::ptrdiff_t>(s) * input.sensor_stride];
  }
}

template <class Tiles>
void feed(const FrontLayout& layout, const Kernels& tiles, std::byte* group, std::byte* scratch,
          std::byte* rows, const FrontInput& input) {
  const Work work = start(layout, tiles, group, scratch, rows, input.sensors);
  if (rows != nullptr) copy_rows(work, false);
  FrontProgress& progress = work.progress(0);
  for (std::size_t t = 0; t < input.count;) {
    const std::size_t count =
        std::min<std::size_t>(layout.pairs[0].block - progress.pending, input.count - t);
    stage(input, t, count, work.plane(0, 0) + progress.pending * kGroupSensors);
    progress.pending += count;
    t += count;
    for (std::size_t p = 0;
         p < layout.pairs.size() && work.progress(p).pending == layout.pairs[p].block; ++p)
      take_block<Tiles>(work, p);
  }
  if (rows != nullptr) copy_rows(work, true);
}

/// The last row of an odd number: its products at the even level, one by one. The odd level's
/// sample is not whole.
inline void multiply_last_row(const Work& work, std::size_t p, std::size_t row) {
  const FrontPair& pair = work.layout.pairs[p];
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
  for (std::size_t sensor = 0; sensor < work.sensors; ++sensor, sums += 2 * kFrontLags) {
    const std::uint64_t last = value(0, sensor);
    totals[sensor] += last;
    for (std::size_t i = 0; i < pair.rungs[0].steps; ++i)
      sums[i] += last * value(pair.delay + pair.rungs[0].first_steps + i, sensor);
  }
}

template <class Tiles>
void drain(const FrontLayout& layout, const Kernels& tiles, std::byte* group, std::byte* scratch,
           std::size_t sensors) {
  const Work work = start(layout, tiles, group, scratch, nullptr, sensors);
  for (std::size_t p = 0; p < layout.pairs.size(); ++p) {
    const FrontPair& pair = layout.pairs[p];
    const std::size_t count = work.progress(p).pending, even = count / 2 * 2;
    const std::size_t end = (even + kFrontStep - 1) / kFrontStep * kFrontStep;
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
    hand_on(work, p, count / 4);
  }
  if (layout.rest.levels.empty()) return;
  for (std::size_t tile = 0; tile * kLanes < sensors; ++tile)
    tiles.drain(layout.rest, group + layout.tiles_at + tile * layout.rest.tile_bytes, scratch);
}

inline std::size_t scratch_bytes(const FrontLayout& layout) {
  return Scratch(layout).bytes;
}

template <class Tiles>
constexpr FrontKernels kernels(const char* name, const Kernels& tiles) {
  return {name, tiles, scratch_bytes, feed<Tiles>, drain<Tiles>};
}

}  // namespace tautline::stages::autocorrelate::cpu::front
