// Packing of 8-bit rows for the byte multiply-adds of VNNI and AMX, in AVX-512 (F and BW).
//
// Only for files that compile with those instructions (cpu_vnni.cpp, cpu_amx.cpp): everything here
// is a template or has internal linkage, so that no other file can pick up the AVX-512 code.
//
// One step is 64 samples of 16 inputs. A packed panel is
//   rows:    [step][re, im][input][64 bytes], a tile of 16 rows: the left factor;
//   columns: [step][re, im][group of 4 samples][input][4 bytes], the same tile with its 4-byte
//   words
//            transposed: the right factor, as TDPBSSD and vpdpbusd want it.
// The order of samples within a step is one that is cheap to make (0, 32, 1, 33, ...), the same for
// every input, which is all that a sum over time needs.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "tautline/stages/correlate/cpu.h"

namespace tautline::stages::correlate::cpu::pack8 {

inline constexpr std::size_t kStepSamples = 64;
inline constexpr std::size_t kTileBytes = 1024;
inline constexpr std::size_t kSideBytes = 2 * kTileBytes;  // re and im tile of one step
inline constexpr std::size_t kStepBytes = 2 * kSideBytes;  // rows and columns

/// Sums of one row's bytes, each byte with 128 added.
struct BiasedSums {
  __m512i re, im;
};

/// Separates re from im; 64 bytes a step go to rows + step * kSideBytes, im one tile later.
/// With kSum, also adds up the bytes.
template <bool kSum>
BiasedSums separate_row(const core::ci8* row, std::size_t steps, std::byte* rows) {
  const __m512i low_bytes = _mm512_set1_epi16(0x00ff);
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
  const __m512i zero = _mm512_setzero_si512();
  BiasedSums sums{zero, zero};
  for (std::size_t s = 0; s < steps; ++s) {
    const __m512i first = _mm512_loadu_si512(row + s * kStepSamples);
    const __m512i second = _mm512_loadu_si512(row + s * kStepSamples + kStepSamples / 2);
    // Bitwise choice by mask: a where its bit is 1, else b (truth table 0xca of mask, a, b).
    const __m512i re =
        _mm512_ternarylogic_epi32(low_bytes, first, _mm512_slli_epi16(second, 8), 0xca);
    const __m512i im =
        _mm512_ternarylogic_epi32(low_bytes, _mm512_srli_epi16(first, 8), second, 0xca);
    std::byte* out = rows + s * kSideBytes;
    _mm512_store_si512(out, re);
    _mm512_store_si512(out + kTileBytes, im);
    if constexpr (kSum) {
      sums.re = _mm512_add_epi64(sums.re, _mm512_sad_epu8(_mm512_xor_si512(re, bias), zero));
      sums.im = _mm512_add_epi64(sums.im, _mm512_sad_epu8(_mm512_xor_si512(im, bias), zero));
    }
  }
  return sums;
}

/// Transposes the 16 x 16 words of a tile; kBiased adds 128 to every byte.
template <bool kBiased>
void transpose_tile(const std::byte* tile, std::byte* out) {
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
  const auto quad = [tile](std::size_t row, std::size_t quarter) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(tile + row * 64 + quarter * 16));
  };
  const auto put = [out, bias](std::size_t word, __m512i v) {
    if constexpr (kBiased) v = _mm512_xor_si512(v, bias);
    _mm512_store_si512(out + word * 64, v);
  };
#pragma GCC unroll 4
  for (std::size_t q = 0; q < 4; ++q) {
    __m512i rows[4];  // rows[r]: quarter q of rows r, 4 + r, 8 + r, 12 + r
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
      rows[r] = _mm512_castsi128_si512(quad(r, q));
      rows[r] = _mm512_inserti32x4(rows[r], quad(4 + r, q), 1);
      rows[r] = _mm512_inserti32x4(rows[r], quad(8 + r, q), 2);
      rows[r] = _mm512_inserti32x4(rows[r], quad(12 + r, q), 3);
    }
    const __m512i a = _mm512_unpacklo_epi32(rows[0], rows[1]);
    const __m512i b = _mm512_unpacklo_epi32(rows[2], rows[3]);
    const __m512i c = _mm512_unpackhi_epi32(rows[0], rows[1]);
    const __m512i d = _mm512_unpackhi_epi32(rows[2], rows[3]);
    put(4 * q, _mm512_unpacklo_epi64(a, b));
    put(4 * q + 1, _mm512_unpackhi_epi64(a, b));
    put(4 * q + 2, _mm512_unpacklo_epi64(c, d));
    put(4 * q + 3, _mm512_unpackhi_epi64(c, d));
  }
}

/// What must be subtracted from a row's sums when the columns are biased (docs/maths/correlate.md):
/// re: 128 (sum re_i + sum im_i);  im: 128 sum im_i + 127 sum re_i.
inline constexpr std::int64_t kBias = 128;

/// Packs a panel. kBiased: the columns hold x + 128, unsigned, and corrections are added up.
template <bool kBiased>
void pack(const core::ci8* const* rows, std::size_t steps, std::byte* panel,
          std::int32_t* corrections) {
  for (std::size_t r = 0; r < kPanel; ++r) {
    const BiasedSums sums = separate_row<kBiased>(rows[r], steps, panel + r * 64);
    if constexpr (kBiased) {
      const auto added = kBias * static_cast<std::int64_t>(steps * kStepSamples);
      const std::int64_t re = _mm512_reduce_add_epi64(sums.re) - added;
      const std::int64_t im = _mm512_reduce_add_epi64(sums.im) - added;
      const auto add = [](std::int32_t& total, std::int64_t value) {  // modulo 2^32
        total = static_cast<std::int32_t>(static_cast<std::uint32_t>(total) +
                                          static_cast<std::uint32_t>(value));
      };
      add(corrections[r], kBias * (re + im));
      add(corrections[kPanel + r], kBias * im + (kBias - 1) * re);
    }
  }
  std::byte* columns = panel + steps * kSideBytes;
  for (std::size_t tile = 0; tile < 2 * steps; ++tile)
    transpose_tile<kBiased>(panel + tile * kTileBytes, columns + tile * kTileBytes);
}

}  // namespace tautline::stages::correlate::cpu::pack8
