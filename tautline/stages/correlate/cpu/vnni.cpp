// Integer correlation in vpdpbusd: four products of unsigned by signed bytes into each 32-bit lane.
//
// The columns hold x_j + 128, which is unsigned, and the rows x_i. With c' = c + 128, d' = d + 128
// and ~d' = 255 - d' = 127 - d, all of them unsigned bytes,
//   sum (a c' + b d')  = re + 128 sum (a + b),
//   sum (b c' + a ~d') = im + 128 sum b + 127 sum a,
// so one correction a row, made while packing, gives the exact sums for every value.
#include <immintrin.h>

#include "tautline/stages/correlate/cpu/kernels.h"

// GCC 12 warns about the deliberately undefined operands of its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#include "tautline/stages/correlate/cpu/pack8.h"
#pragma GCC target("avx512vnni")

namespace tautline::stages::correlate::cpu {

namespace {

// 2 x 8 accumulators sustain two multiply-adds a cycle at a latency of 4 or 5 cycles.
constexpr std::size_t kRows = 8;
constexpr std::size_t kWordsPerTile = pack8::kTileBytes / 4;

// Multiplies kRows rows of one block. `rows` and `columns` are tiles of 32-bit words.
void multiply_rows(const std::int32_t* rows, const std::int32_t* columns, std::size_t steps,
                   std::int32_t* re, std::int32_t* im, Prefetch& ahead, std::size_t lines) {
  const __m512i ones = _mm512_set1_epi32(-1);
  __m512i sum_re[kRows], sum_im[kRows];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) sum_re[r] = sum_im[r] = _mm512_setzero_si512();
  for (std::size_t s = 0; s < steps; ++s) {
    ahead.fetch(lines);
#pragma GCC unroll 4
    for (std::size_t word = 0; word < kPanel; ++word) {
      const __m512i c = _mm512_load_si512(columns + word * kPanel);
      const __m512i d = _mm512_load_si512(columns + kWordsPerTile + word * kPanel);
      const __m512i not_d = _mm512_xor_si512(d, ones);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const __m512i a = _mm512_set1_epi32(rows[r * kPanel + word]);
        sum_re[r] = _mm512_dpbusd_epi32(sum_re[r], c, a);
        sum_im[r] = _mm512_dpbusd_epi32(sum_im[r], not_d, a);
      }
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const __m512i b = _mm512_set1_epi32(rows[kWordsPerTile + r * kPanel + word]);
        sum_re[r] = _mm512_dpbusd_epi32(sum_re[r], d, b);
        sum_im[r] = _mm512_dpbusd_epi32(sum_im[r], c, b);
      }
    }
    rows += 2 * kWordsPerTile;
    columns += 2 * kWordsPerTile;
  }
  const auto add_to = [](std::int32_t* at, __m512i v) {
    _mm512_store_si512(at, _mm512_add_epi32(v, _mm512_load_si512(at)));
  };
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kRows; ++r) {
    add_to(re + r * kPanel, sum_re[r]);
    add_to(im + r * kPanel, sum_im[r]);
  }
}

void multiply(const PanelPair* blocks, std::size_t count, const Packed& packed, std::int32_t* sums,
              Prefetch& ahead) {
  const auto words = [&](std::size_t panel, std::size_t offset) {
    return reinterpret_cast<const std::int32_t*>(packed.panel(panel) + offset);
  };
  const std::size_t lines = ahead.lines_in(packed.steps * (kPanel / kRows));
  for (std::size_t k = 0; k < count; ++k, sums += kSumsPerBlock) {
    const std::int32_t* rows = words(blocks[k].row_panel, 0);
    const std::int32_t* columns = words(blocks[k].column_panel, packed.steps * pack8::kSideBytes);
    for (std::size_t r = 0; r < kPanel; r += kRows)
      multiply_rows(rows + r * kPanel, columns, packed.steps, sums + r * kPanel,
                    sums + kBlock + r * kPanel, ahead, lines);
  }
}

}  // namespace

const IntegerKernel& vnni_kernel() {
  static constexpr IntegerKernel kKernel{
      .backend = "vnni",
      .step_samples = pack8::kStepSamples,
      .step_bytes = pack8::kStepBytes,
      .step_row_bytes = 0,
      // Two panels of 32 KiB nearly fit the first-level cache of Zen 5 and Sapphire Rapids (48
      // KiB); 768 samples were 2 % slower on Zen 5.
      .max_chunk_samples = 512,
      .group_panels = 8,
      .half_diagonal = false,
      .pack = pack8::pack_biased,
      .multiply = multiply};
  return kKernel;
}

}  // namespace tautline::stages::correlate::cpu

#pragma GCC pop_options
