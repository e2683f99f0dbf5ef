// Packing of 8-bit rows for the byte multiply-adds of VNNI, in AVX-512 (F and BW); cpu/amx/pack.h
// shares parts of it.
//
// Include it only with exactly those instructions switched on (cpu/vnni.cpp, cpu/amx/amx.cpp): its
// inline functions must be the same code in every file.
//
// One step is 64 samples of 16 inputs. A packed panel is
//   rows:    [step][re, im][input][64 bytes], a tile of 16 rows: the left factor;
//   columns: [step][re, im][group of 4 samples][input][4 bytes], the same tile with its 4-byte
//            words transposed: the right factor, as TDPBSSD and vpdpbusd want it.
// Samples within a step are in an order that is cheap to make (0, 32, 1, 33, ...), the same for
// every input, and sums over time do not depend on the order.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "tautline/stages/correlate/cpu/kernels.h"

namespace tautline::stages::correlate::cpu::pack8 {

inline constexpr std::size_t kStepSamples = 64;
inline constexpr std::size_t kTileBytes = 1024;
inline constexpr std::size_t kSideBytes = 2 * kTileBytes;  // re and im tile of one step
inline constexpr std::size_t kStepBytes = 2 * kSideBytes;  // rows and columns

/// Sums of one row's bytes, each byte with 128 added.
struct BiasedSums {
  __m512i re, im;
};

/// Separates re from im in one step of a row: 64 bytes each, im one tile after re.
template <class Sample>
void separate_step(const Sample* row, std::byte* out) {
  const __m512i low_bytes = _mm512_set1_epi16(0x00ff);
  const __m512i first = _mm512_loadu_si512(row);
  const __m512i second = _mm512_loadu_si512(row + kStepSamples / 2);
  // Bitwise choice by mask: a where its bit is 1, else b (truth table 0xca of mask, a, b).
  const __m512i re =
      _mm512_ternarylogic_epi32(low_bytes, first, _mm512_slli_epi16(second, 8), 0xca);
  const __m512i im =
      _mm512_ternarylogic_epi32(low_bytes, _mm512_srli_epi16(first, 8), second, 0xca);
  _mm512_store_si512(out, re);
  _mm512_store_si512(out + kTileBytes, im);
}

/// Adds up the 64 bytes of each part that separate_step wrote to `separated`, with the bias.
template <class Sums>
void add_step(const std::byte* separated, Sums& sums) {
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
  const auto sum = [&](const std::byte* bytes) {
    return _mm512_sad_epu8(_mm512_xor_si512(_mm512_load_si512(bytes), bias),
                           _mm512_setzero_si512());
  };
  sums.re = _mm512_add_epi64(sums.re, sum(separated));
  sums.im = _mm512_add_epi64(sums.im, sum(separated + kTileBytes));
}

/// words[k] = word 4 q + k of the 16 rows of a tile.
[[gnu::always_inline]] inline void transpose_quarter(const std::byte* tile, std::size_t q,
                                                     __m512i (&words)[4]) {
  const auto quad = [tile, q](std::size_t row) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(tile + row * 64 + q * 16));
  };
  __m512i rows[4];  // rows[r]: the quarter of rows r, 4 + r, 8 + r, 12 + r
#pragma GCC unroll 4
  for (std::size_t r = 0; r < 4; ++r) {
    rows[r] = _mm512_castsi128_si512(quad(r));
    rows[r] = _mm512_inserti32x4(rows[r], quad(4 + r), 1);
    rows[r] = _mm512_inserti32x4(rows[r], quad(8 + r), 2);
    rows[r] = _mm512_inserti32x4(rows[r], quad(12 + r), 3);
  }
  const __m512i a = _mm512_unpacklo_epi32(rows[0], rows[1]);
  const __m512i b = _mm512_unpacklo_epi32(rows[2], rows[3]);
  const __m512i c = _mm512_unpackhi_epi32(rows[0], rows[1]);
  const __m512i d = _mm512_unpackhi_epi32(rows[2], rows[3]);
  words[0] = _mm512_unpacklo_epi64(a, b);
  words[1] = _mm512_unpackhi_epi64(a, b);
  words[2] = _mm512_unpacklo_epi64(c, d);
  words[3] = _mm512_unpackhi_epi64(c, d);
}

/// Transposes both tiles of a step and adds 128 to every byte.
inline void transpose_step_biased(const std::byte* rows, std::byte* columns) {
  const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
  for (std::size_t part = 0; part < 2; ++part)
#pragma GCC unroll 4
    for (std::size_t q = 0; q < 4; ++q) {
      __m512i words[4];
      transpose_quarter(rows + part * kTileBytes, q, words);
      std::byte* out = columns + part * kTileBytes + q * 256;
      for (std::size_t k = 0; k < 4; ++k)
        _mm512_store_si512(out + k * 64, _mm512_xor_si512(words[k], bias));
    }
}

/// The bias of the columns. Corrections to subtract from a row's sums (docs/maths/correlate.md):
/// re: 128 (sum re_i + sum im_i);  im: 128 sum im_i + 127 sum re_i.
inline constexpr std::int64_t kBias = 128;

/// Adds to a row's corrections, modulo 2^32.
template <class Sums>
void add_corrections(const Sums& sums, std::size_t samples, std::int32_t& correction_re,
                     std::int32_t& correction_im) {
  const std::int64_t added = kBias * static_cast<std::int64_t>(samples);
  const std::int64_t re = _mm512_reduce_add_epi64(sums.re) - added;
  const std::int64_t im = _mm512_reduce_add_epi64(sums.im) - added;
  const auto add = [](std::int32_t& total, std::int64_t value) {
    total = static_cast<std::int32_t>(static_cast<std::uint32_t>(total) +
                                      static_cast<std::uint32_t>(value));
  };
  add(correction_re, kBias * (re + im));
  add(correction_im, kBias * im + (kBias - 1) * re);
}

/// Packs a panel whose columns hold x + 128, unsigned, and adds to its corrections.
inline void pack_biased(const core::ci8* const* rows, std::size_t steps, std::byte* panel,
                        std::byte*, std::int32_t* corrections) {
  for (std::size_t r = 0; r < kPanel; ++r) {
    BiasedSums sums{_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (std::size_t s = 0; s < steps; ++s) {
      std::byte* out = panel + s * kSideBytes + r * 64;
      separate_step(rows[r] + s * kStepSamples, out);
      add_step(out, sums);
    }
    add_corrections(sums, steps * kStepSamples, corrections[r], corrections[kPanel + r]);
  }
  std::byte* columns = panel + steps * kSideBytes;
  for (std::size_t s = 0; s < steps; ++s)
    transpose_step_biased(panel + s * kSideBytes, columns + s * kSideBytes);
}

}  // namespace tautline::stages::correlate::cpu::pack8
