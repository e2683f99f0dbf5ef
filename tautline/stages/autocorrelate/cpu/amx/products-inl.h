// Products at all lags by matrix products. `Tiles` implements the tile operations of
// device/cpu/amx_tiles.h, of which this file uses the products of unsigned bytes: the AMX
// instructions (cpu/amx/amx.cpp), or their emulation in a test on any machine with VNNI.
//
// Included by files that compile with AVX-512 F, BW, DQ, VL and VNNI.
//
// A block of rows is cut into quarters. The quarters' bytes at the same index u are one word
// X(u) of a sensor. A step multiplies
//   A[m][r] = X(16 r + m),  B_s[r][n] = X(16 (r - s) + n),  16 values of r,
// so that C_s[m][n] has products at the lag 16 s + m - n. Each lag of the matrices occurs once for
// each m, the later sample's index modulo 16 (its phase). The sum over all m is the even level's
// sum. A sample of the odd level is the sum of a sample of even phase and the following one of odd
// phase.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "tautline/stages/autocorrelate/cpu/amx/layout.h"

namespace tautline::stages::autocorrelate::cpu::amx {

inline constexpr std::size_t kTileBytes = 1024;
/// Words of a row of products: the rows of all matrices in descending order of shift, and one more
/// cache line, so that rows start in different sets of a cache. The product of phase m at a lag is
/// word m + 96 - lag.
inline constexpr std::size_t kProductRow = 16 * (kAmxShifts + 2);
inline constexpr std::size_t kLagZero = 16 * (kAmxShifts - 1);
inline constexpr std::size_t kProducts = 16 * kProductRow;

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}

/// Transposes 16 x 16 words.
[[gnu::always_inline]] inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  // x[i + j] has the words j + 4 n of rows i .. i + 3 in its n-th 128 bits.
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

/// Sums of a plane's bytes, in the order of interleaved_sensor().
struct PlaneTotals {
  alignas(64) std::uint32_t sums[kGroupTiles][kLanes];
};

/// Writes one plane's series of words: word w of a sensor is X(w - lead), w < `words` (a multiple
/// of 16). `rows` is X(0) of the first quarter. Returns the sums of the block's bytes.
inline PlaneTotals interleave(const std::uint8_t* rows, std::size_t quarter, std::size_t lead,
                              std::size_t words, std::size_t series_words, std::byte* interleaved,
                              std::byte* series) {
  __m512i sums[kGroupTiles];
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  const __m512i ones = _mm512_set1_epi8(1);
  const std::size_t step = quarter * kGroupSensors;
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
      const bool inside = w + i >= lead && w + i < lead + quarter;
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kGroupTiles; ++v) {
        _mm512_store_si512(interleaved + v * kTileBytes + i * 64, x[v]);
        if (inside) sums[v] = _mm512_dpbusd_epi32(sums[v], x[v], ones);
      }
    }
    for (std::size_t v = 0; v < kGroupTiles; ++v) {
      __m512i x[16];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i) x[i] = load(interleaved + v * kTileBytes + i * 64);
      transpose(x);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < 16; ++i)
        _mm512_store_si512(series + (interleaved_sensor(v, i) * series_words + w) * 4, x[i]);
    }
  }
  PlaneTotals totals;
  for (std::size_t v = 0; v < kGroupTiles; ++v) _mm512_store_si512(totals.sums[v], sums[v]);
  return totals;
}

/// Makes the left factors of all steps, A[m][r] = X(16 r + m). `series` is X(0).
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

/// The first word of the matrix of shift s in a row of products.
inline std::uint32_t* matrix(std::uint32_t* products, std::size_t s) {
  return products + 16 * (kAmxShifts - 1 - s);
}

/// Multiplies bytes at `kShifts` shifts from `s` on. `right` is B_0 of the first step.
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
    tiles.template dot_unsigned<0, 4, 5>();
    if constexpr (kShifts > 1) {
      tiles.template load<6>(right - 64);
      tiles.template dot_unsigned<1, 4, 6>();
    }
    if constexpr (kShifts > 2) {
      tiles.template load<7>(right - 128);
      tiles.template dot_unsigned<2, 4, 7>();
    }
    if constexpr (kShifts > 3) {
      tiles.template load<5>(right - 192);
      tiles.template dot_unsigned<3, 4, 5>();
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

/// A sensor's left and right factors in both planes.
struct Factors {
  const std::byte *left_low, *left_high, *right_low, *right_high;
};

/// Multiplies low and high bytes at `kShifts` (1 or 2) shifts from s on. The products low x low,
/// low x high + high x low, and high x high are summed in matrices of their own.
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
    tiles.template dot_unsigned<0, 6, 7>();
    if constexpr (kTwo) {
      tiles.template load<7>(f.right_low + at - 64);
      tiles.template dot_unsigned<1, 6, 7>();
      tiles.template load<7>(f.right_high + at - 64);
      tiles.template dot_unsigned<3, 6, 7>();
    }
    tiles.template load<7>(f.right_high + at);
    tiles.template dot_unsigned<2, 6, 7>();
    tiles.template load<6>(f.left_high + at);
    tiles.template dot_unsigned<4, 6, 7>();
    if constexpr (kTwo) {
      tiles.template load<7>(f.right_high + at - 64);
      tiles.template dot_unsigned<5, 6, 7>();
      tiles.template load<7>(f.right_low + at - 64);
      tiles.template dot_unsigned<3, 6, 7>();
    }
    tiles.template load<7>(f.right_low + at);
    tiles.template dot_unsigned<2, 6, 7>();
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

/// Sums over the phases at the 16 lags that end with `lag_end`, the longest first. With kPaired, an
/// odd phase contributes its products at the next longer lags.
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

/// Adds products to a sensor's sums [2][kAmxLags]. Products of kind j have the weight 2^(8 j).
inline void add_products(const LevelPair& pair, const std::uint32_t* products, std::size_t kinds,
                         std::uint64_t* sums) {
  const LagRange& even = pair.ranges[0];
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
  sums += kAmxLags;
  const __m512i low_words = _mm512_set1_epi64(0xffffffff);
  for (std::size_t i = 0; i < pair.ranges[1].steps; i += 8)
    for (std::size_t j = 0; j < kinds; ++j) {
      // Adjacent lags from second_lag - 1 + 2 i on are added in pairs.
      const __m512i x =
          reversed(sum_phases<true>(products + j * kProducts, pair.second_lag - 1 + 2 * i + 15));
      const __m512i both =
          _mm512_add_epi64(_mm512_and_si512(x, low_words), _mm512_srli_epi64(x, 32));
      add_to(sums + i, _mm512_slli_epi64(both, static_cast<unsigned>(8 * j)));
    }
}

}  // namespace tautline::stages::autocorrelate::cpu::amx
