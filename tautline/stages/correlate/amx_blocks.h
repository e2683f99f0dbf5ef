// The block loop of the AMX correlator over any implementation of the tile operations: the real
// instructions (cpu_amx.cpp), or a plain emulation of them for a test on any AVX-512 machine.
//
// Like cpu_pack8.h, only for files that compile with AVX-512 F and BW.
//
// `Tiles` holds eight tiles of 16 rows x 64 bytes from its construction to its destruction, and has
//   zero<T>()             tile T = 0
//   load<T>(bytes)        tile T = 1024 bytes, 64 a row
//   store<T>(bytes)
//   dot<T, A, B>()        T[m][n] += sum over k, q of A[m][4k+q] B[k][4n+q], signed bytes, 32-bit
//   sums
#pragma once

#include <immintrin.h>

#include "tautline/stages/correlate/cpu.h"
#include "tautline/stages/correlate/cpu_pack8.h"

namespace tautline::stages::correlate::cpu {

/// What goes on in every step beside the products: lines are fetched,
struct FetchAhead {
  Prefetch& lines;
  std::size_t lines_per_step;
  void step() { lines.fetch(lines_per_step); }
};

/// and slices of the next chunk packed. A step's four products keep the tile unit busy for 64
/// cycles while their instructions are issued in a few, so the vector units have time to pack.
struct PackAhead {
  FetchAhead fetch;
  pack8::SlicedPacker<core::ci8>& packer;
  std::size_t slices_per_step;
  void step() {
    fetch.step();
    for (std::size_t k = 0; k < slices_per_step; ++k) packer.slice();
  }
};

/// Four accumulators, so that each has four products' time to finish before it is used again; one
/// tile load per product. With x_i = a + ib, x_j = c + id: tiles 0 to 3 sum a c, b d, b c and a d.
template <class Tiles, bool kDiagonal, class Ahead>
void multiply_tiles(Tiles& tiles, const std::byte* rows, const std::byte* columns,
                    std::size_t steps, std::int32_t* products, Ahead& ahead) {
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  if constexpr (!kDiagonal) tiles.template zero<3>();
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load<6>(columns);  // c
    tiles.template load<4>(rows);     // a
    tiles.template dot<0, 4, 6>();
    tiles.template load<5>(rows + pack8::kTileBytes);  // b
    tiles.template dot<2, 5, 6>();
    tiles.template load<7>(columns + pack8::kTileBytes);  // d
    tiles.template dot<1, 5, 7>();
    if constexpr (!kDiagonal) tiles.template dot<3, 4, 7>();
    ahead.step();
    rows += pack8::kSideBytes;
    columns += pack8::kSideBytes;
  }
  tiles.template store<0>(products);
  tiles.template store<1>(products + kBlock);
  tiles.template store<2>(products + 2 * kBlock);
  if constexpr (!kDiagonal) tiles.template store<3>(products + 3 * kBlock);
}

/// re += a c + b d;  im += b c - a d, or b c alone on the diagonal, where a d is its transpose.
template <class Tiles, bool kDiagonal>
void add_products(const std::int32_t* products, std::int32_t* sums) {
  for (std::size_t k = 0; k < kBlock; k += 16) {
    const auto part = [&](std::size_t p) { return _mm512_load_si512(products + p * kBlock + k); };
    std::int32_t* re = sums + k;
    std::int32_t* im = sums + kBlock + k;
    __m512i im_sum = _mm512_add_epi32(_mm512_load_si512(im), part(2));
    if constexpr (!kDiagonal) im_sum = _mm512_sub_epi32(im_sum, part(3));
    _mm512_store_si512(re,
                       _mm512_add_epi32(_mm512_load_si512(re), _mm512_add_epi32(part(0), part(1))));
    _mm512_store_si512(im, im_sum);
  }
}

template <class Tiles, class Ahead>
void multiply_blocks(const Block* blocks, std::size_t count, const Packed& packed,
                     std::int32_t* sums, Ahead& ahead) {
  alignas(64) std::int32_t products[4 * kBlock];
  Tiles tiles;
  for (std::size_t k = 0; k < count; ++k, sums += kSumsPerBlock) {
    const auto [row_panel, column_panel] = blocks[k];
    const std::byte* rows = packed.panels + row_panel * packed.panel_bytes;
    const std::byte* columns =
        packed.panels + column_panel * packed.panel_bytes + packed.steps * pack8::kSideBytes;
    if (row_panel == column_panel) {
      multiply_tiles<Tiles, true>(tiles, rows, columns, packed.steps, products, ahead);
      add_products<Tiles, true>(products, sums);
    } else {
      multiply_tiles<Tiles, false>(tiles, rows, columns, packed.steps, products, ahead);
      add_products<Tiles, false>(products, sums);
    }
  }
}

template <class Tiles>
void multiply(const Block* blocks, std::size_t count, const Packed& packed, std::int32_t* sums,
              Prefetch& lines) {
  FetchAhead ahead{lines, lines.lines_in(packed.steps)};
  multiply_blocks<Tiles>(blocks, count, packed, sums, ahead);
}

template <class Tiles>
void multiply_and_pack(const Block* blocks, std::size_t count, const Packed& packed,
                       std::int32_t* sums, const NextChunk<core::ci8>& next, Prefetch& lines) {
  pack8::SlicedPacker<core::ci8> packer(next);
  const std::size_t steps = count * packed.steps;
  PackAhead ahead{
      {lines, lines.lines_in(packed.steps)}, packer, (packer.slices_left() + steps - 1) / steps};
  multiply_blocks<Tiles>(blocks, count, packed, sums, ahead);
  packer.finish();
}

template <class Tiles>
constexpr IntegerKernel tile_kernel(const char* name) {
  return {.backend = name,
          .step_samples = pack8::kStepSamples,
          .step_bytes = pack8::kStepBytes,
          // The column panel (16 KiB) then stays in a 48 KiB first-level cache while row panels
          // (16 KiB each) stream past it from the second level at half of what it can give.
          .max_chunk_samples = 512,
          .half_diagonal = true,
          .pack = pack8::pack<false>,
          .multiply = multiply<Tiles>,
          .multiply_and_pack = multiply_and_pack<Tiles>};
}

}  // namespace tautline::stages::correlate::cpu
