// Packing of 8-bit rows for AMX, in AVX-512 (F and BW) and VNNI.
//
// Like cpu/pack8.h, include it only with exactly those instructions switched on.
//
// One step is 64 samples of 16 inputs, as re and im tiles of 16 rows of 64 bytes.
//   row factors: [step][re, im]: the left factors;
//   a panel:     [step][re, im, ~im], each tile with its 4-byte words transposed: the right
//   factors.
// The complement ~im replaces -im, which does not fit a byte when im = -128. Since -x = ~x + 1, one
// correction a row makes up the difference (docs/maths/correlate.md).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "tautline/stages/correlate/cpu/kernels.h"
#include "tautline/stages/correlate/cpu/pack8.h"

namespace tautline::stages::correlate::cpu::amx {

using pack8::kStepSamples;
using pack8::kTileBytes;

inline constexpr std::size_t kRowBytes = 2 * kTileBytes;     // re, im
inline constexpr std::size_t kColumnBytes = 3 * kTileBytes;  // re, im, ~im

/// Packs a panel. With x_i = a + ib and x_j = c + id, sum (b c + a ~d) = im - sum a: so the sum of
/// a row's re is subtracted from its correction of im.
inline void pack(const core::ci8* const* rows, std::size_t steps, std::byte* panel,
                 std::byte* row_factors, std::int32_t* corrections) {
  // Four accumulators hide the latency of the additions.
  __m512i sum_re[4] = {};
  for (std::size_t s = 0; s < steps; ++s, row_factors += kRowBytes, panel += kColumnBytes) {
    for (std::size_t r = 0; r < kPanel; ++r)
      pack8::separate_step(rows[r] + s * kStepSamples, row_factors + r * 64);
#pragma GCC unroll 4
    for (std::size_t q = 0; q < 4; ++q) {
      __m512i re[4], im[4];
      pack8::transpose_quarter(row_factors, q, re);
      pack8::transpose_quarter(row_factors + kTileBytes, q, im);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        std::byte* out = panel + (4 * q + k) * 64;
        _mm512_store_si512(out, re[k]);
        _mm512_store_si512(out + kTileBytes, im[k]);
        _mm512_store_si512(out + 2 * kTileBytes,
                           _mm512_ternarylogic_epi32(im[k], im[k], im[k], 0x55));  // not im
        sum_re[k] = _mm512_dpbusd_epi32(sum_re[k], _mm512_set1_epi8(1), re[k]);
      }
    }
  }
  std::int32_t* at = corrections + kPanel;
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(sum_re[0], sum_re[1]),
                                       _mm512_add_epi32(sum_re[2], sum_re[3]));
  _mm512_storeu_si512(at, _mm512_sub_epi32(_mm512_loadu_si512(at), sum));
}

}  // namespace tautline::stages::correlate::cpu::amx
