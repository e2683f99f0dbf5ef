// The block loop of the AMX correlator over any implementation of the tile operations: the real
// instructions (cpu/amx/amx.cpp), or a plain emulation of them for a test on any machine with VNNI.
//
// Like cpu/amx/pack.h, include it only in files compiled with AVX-512 F, BW and VNNI.
//
// `Tiles` has the interface of device/cpu/amx_tiles.h; only products of signed bytes are used.
//
// A product takes the tile unit 16 cycles, and a tile load 8 from the first-level cache or some 25
// from the second; a product waits some 52 cycles for the previous product into the same tile. So
// products alternate among four tiles of sums; and the row factors of two panels stay in the
// first-level cache (32 KiB at 512 samples) while column panels stream past them, with three loads
// from the second level for eight products. Tiles are loaded with the sums and stored over them:
// adding products to sums by vector code, at once or beside the next products, was slower
// (docs/performance/notebook.md).
#pragma once

#include <immintrin.h>

#include "tautline/stages/correlate/cpu/amx/pack.h"
#include "tautline/stages/correlate/cpu/kernels.h"

namespace tautline::stages::correlate::cpu::amx {

// With x_i = a + ib, x_j = c + id: re += a c + b d;  im += b c + a ~d, or b c alone on the
// diagonal, where a d is its transpose.

/// Adds to two blocks of one column panel.
template <class Tiles, bool kDiagonal>
void add_two_blocks(Tiles& tiles, const std::byte* rows, const std::byte* next_rows,
                    const std::byte* columns, std::size_t steps, std::int32_t* sums,
                    Prefetch& lines, std::size_t lines_per_step) {
  tiles.template load<0>(sums);
  tiles.template load<1>(sums + kBlock);
  tiles.template load<2>(sums + 2 * kBlock);
  tiles.template load<3>(sums + 3 * kBlock);
  // Prefetches the sums of the next two blocks.
  Prefetch next_sums(sums + 4 * kBlock, 0, 1, 4 * kBlock * sizeof *sums - 1, 1);
  const std::size_t sums_per_step = next_sums.lines_in(steps);
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load_passing<4>(columns);  // c
    tiles.template load<6>(rows);             // a
    tiles.template dot_signed<0, 6, 4>();
    tiles.template load<7>(rows + kTileBytes);  // b
    tiles.template dot_signed<1, 7, 4>();
    tiles.template load_passing<5>(columns + kTileBytes);  // d
    tiles.template dot_signed<0, 7, 5>();
    tiles.template load<7>(next_rows);  // a of the second block
    tiles.template dot_signed<2, 7, 4>();
    tiles.template load<6>(next_rows + kTileBytes);  // b of the second block
    tiles.template dot_signed<3, 6, 4>();
    tiles.template load_passing<4>(columns + 2 * kTileBytes);  // ~d
    tiles.template dot_signed<2, 6, 5>();
    tiles.template dot_signed<3, 7, 4>();
    if constexpr (!kDiagonal) {
      tiles.template load<6>(rows);  // a
      tiles.template dot_signed<1, 6, 4>();
    }
    lines.fetch(2 * lines_per_step);
    next_sums.fetch(sums_per_step);
    rows += kRowBytes;
    next_rows += kRowBytes;
    columns += kColumnBytes;
  }
  tiles.template store<0>(sums);
  tiles.template store<1>(sums + kBlock);
  tiles.template store<2>(sums + 2 * kBlock);
  tiles.template store<3>(sums + 3 * kBlock);
}

/// Adds to one block. Two tiles share each part of the sums, so that products alternate among four
/// tiles.
template <class Tiles, bool kDiagonal>
void add_block(Tiles& tiles, const std::byte* rows, const std::byte* columns, std::size_t steps,
               std::int32_t* sums, Prefetch& lines, std::size_t lines_per_step) {
  tiles.template load<0>(sums);
  tiles.template load<1>(sums + kBlock);
  tiles.template zero<2>();
  tiles.template zero<3>();
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load<4>(columns);  // c
    tiles.template load<6>(rows);     // a
    tiles.template dot_signed<0, 6, 4>();
    tiles.template load<7>(rows + kTileBytes);  // b
    tiles.template dot_signed<1, 7, 4>();
    tiles.template load<5>(columns + kTileBytes);  // d
    tiles.template dot_signed<2, 7, 5>();
    if constexpr (!kDiagonal) {
      tiles.template load<5>(columns + 2 * kTileBytes);  // ~d
      tiles.template dot_signed<3, 6, 5>();
    }
    lines.fetch(lines_per_step);
    rows += kRowBytes;
    columns += kColumnBytes;
  }
  alignas(64) std::int32_t rest[2 * kBlock];
  tiles.template store<0>(sums);
  tiles.template store<1>(sums + kBlock);
  tiles.template store<2>(rest);
  tiles.template store<3>(rest + kBlock);
  for (std::size_t k = 0; k < (kDiagonal ? kBlock : 2 * kBlock); k += 16)
    _mm512_store_si512(sums + k,
                       _mm512_add_epi32(_mm512_load_si512(sums + k), _mm512_load_si512(rest + k)));
}

template <class Tiles>
void multiply(const PanelPair* blocks, std::size_t count, const Packed& packed, std::int32_t* sums,
              Prefetch& lines) {
  Tiles tiles;
  const std::size_t lines_per_step = lines.lines_in(packed.steps);
  for (std::size_t k = 0; k < count;) {
    const auto [row, column] = blocks[k];
    const std::byte* rows = packed.row_factors(row);
    const std::byte* columns = packed.panel(column);
    std::int32_t* at = sums + k * kSumsPerBlock;
    const auto add = [&]<bool kDiagonal>(std::bool_constant<kDiagonal>) {
      // The blocks of a column are consecutive in a group; only the first may be on the diagonal.
      if (k + 1 < count && blocks[k + 1].column_panel == column) {
        add_two_blocks<Tiles, kDiagonal>(tiles, rows, packed.row_factors(blocks[k + 1].row_panel),
                                         columns, packed.steps, at, lines, lines_per_step);
        return 2;
      }
      add_block<Tiles, kDiagonal>(tiles, rows, columns, packed.steps, at, lines, lines_per_step);
      return 1;
    };
    k += row == column ? add(std::true_type()) : add(std::false_type());
  }
}

template <class Tiles>
constexpr IntegerKernel kernel(const char* name) {
  return {.backend = name,
          .step_samples = kStepSamples,
          .step_bytes = kColumnBytes,
          .step_row_bytes = kRowBytes,
          .max_chunk_samples = 512,
          .group_panels = 2,
          .half_diagonal = true,
          .pack = pack,
          .multiply = multiply<Tiles>};
}

}  // namespace tautline::stages::correlate::cpu::amx
