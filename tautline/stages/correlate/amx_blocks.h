// The block loop of the AMX correlator over any implementation of the tile operations: the real
// instructions (cpu_amx.cpp), or a plain emulation of them for a test on any machine with VNNI.
//
// Like amx_pack.h, only for files that compile with AVX-512 F, BW and VNNI.
//
// `Tiles` holds eight tiles of 16 rows x 64 bytes from its construction to its destruction, and has
//   zero<T>()             tile T = 0
//   load<T>(bytes)        tile T = 1024 bytes, 64 a row
//   store<T>(bytes)
//   dot<T, A, B>()        T[m][n] += sum over k, q of A[m][4k+q] B[k][4n+q], signed bytes, 32-bit
//   sums
//
// A product takes the tile unit 16 cycles, a tile load the two load ports 8, and a sum must wait
// some 52 cycles for its last product: so four sums in turn, and fewer loads than products.
#pragma once

#include <immintrin.h>

#include "tautline/stages/correlate/amx_pack.h"
#include "tautline/stages/correlate/cpu.h"

namespace tautline::stages::correlate::cpu::amx {

/// What goes on beside the products, twice a step of two blocks and once a step of one: lines are
/// fetched,
struct FetchAhead {
  Prefetch& lines;
  std::size_t lines_at_a_time;
  void step() { lines.fetch(lines_at_a_time); }
};

/// and slices of the next chunk packed. Products keep the tile unit busy for long while their
/// instructions are issued in a few cycles, so the vector units have time to pack.
struct PackAhead {
  FetchAhead fetch;
  Packer& packer;
  std::size_t slices_at_a_time;
  void step() {
    fetch.step();
    for (std::size_t k = 0; k < slices_at_a_time; ++k) packer.slice();
  }
};

/// The panels of a block in the packed chunk.
struct Operands {
  const std::byte* rows;
  const std::byte* columns;
};

inline Operands operands(const Packed& packed, const Block& block) {
  return {packed.panels + block.row_panel * packed.panel_bytes,
          packed.panels + block.column_panel * packed.panel_bytes + packed.steps * kRowBytes};
}

// With x_i = a + ib, x_j = c + id: re += a c + b d;  im += b c + a ~d, or b c alone on the diagonal,
// where a d is its transpose.

/// Two blocks of one column panel, added to their sums where these lie. Seven loads for eight
/// products: the columns' three tiles stay while four row tiles pass through one register.
template <class Tiles, bool kDiagonal, class Ahead>
void add_two_blocks(Tiles& tiles, const std::byte* rows, const std::byte* next_rows,
                    const std::byte* columns, std::size_t steps, std::int32_t* sums, Ahead& ahead) {
  tiles.template load<0>(sums);
  tiles.template load<1>(sums + kBlock);
  tiles.template load<2>(sums + 2 * kBlock);
  tiles.template load<3>(sums + 3 * kBlock);
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load<4>(columns);                   // c
    tiles.template load<6>(columns + 2 * kTileBytes);  // ~d
    tiles.template load<7>(rows);                      // a
    tiles.template dot<0, 7, 4>();
    if constexpr (!kDiagonal) tiles.template dot<1, 7, 6>();
    tiles.template load<7>(next_rows);
    tiles.template dot<2, 7, 4>();
    tiles.template dot<3, 7, 6>();
    ahead.step();
    tiles.template load<5>(columns + kTileBytes);  // d
    tiles.template load<7>(rows + kTileBytes);     // b
    tiles.template dot<0, 7, 5>();
    tiles.template dot<1, 7, 4>();
    tiles.template load<7>(next_rows + kTileBytes);
    tiles.template dot<2, 7, 5>();
    tiles.template dot<3, 7, 4>();
    ahead.step();
    rows += kRowBytes;
    next_rows += kRowBytes;
    columns += kColumnBytes;
  }
  tiles.template store<0>(sums);
  tiles.template store<1>(sums + kBlock);
  tiles.template store<2>(sums + 2 * kBlock);
  tiles.template store<3>(sums + 3 * kBlock);
}

/// One block. Each part of the sums is made in two tiles, so that there are four.
template <class Tiles, bool kDiagonal, class Ahead>
void add_block(Tiles& tiles, const std::byte* rows, const std::byte* columns, std::size_t steps,
               std::int32_t* sums, Ahead& ahead) {
  tiles.template load<0>(sums);
  tiles.template load<1>(sums + kBlock);
  tiles.template zero<2>();
  tiles.template zero<3>();
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load<4>(columns);  // c
    tiles.template load<7>(rows);     // a
    tiles.template dot<0, 7, 4>();
    if constexpr (!kDiagonal) {
      tiles.template load<6>(columns + 2 * kTileBytes);  // ~d
      tiles.template dot<3, 7, 6>();
    }
    tiles.template load<5>(columns + kTileBytes);  // d
    tiles.template load<7>(rows + kTileBytes);     // b
    tiles.template dot<1, 7, 4>();
    tiles.template dot<2, 7, 5>();
    ahead.step();
    rows += kRowBytes;
    columns += kColumnBytes;
  }
  alignas(64) std::int32_t rest[2 * kBlock];
  tiles.template store<0>(sums);
  tiles.template store<1>(sums + kBlock);
  tiles.template store<2>(rest);
  tiles.template store<3>(rest + kBlock);
  for (std::size_t k = 0; k < (kDiagonal ? kBlock : 2 * kBlock); k += 16)
    _mm512_store_si512(
        sums + k, _mm512_add_epi32(_mm512_load_si512(sums + k), _mm512_load_si512(rest + k)));
}

template <class Tiles, class Ahead>
void add_blocks(const Block* blocks, std::size_t count, const Packed& packed, std::int32_t* sums,
                Ahead& ahead) {
  Tiles tiles;
  for (std::size_t k = 0; k < count;) {
    const auto [rows, columns] = operands(packed, blocks[k]);
    const bool diagonal = blocks[k].row_panel == blocks[k].column_panel;
    std::int32_t* at = sums + k * kSumsPerBlock;
    // A column panel's blocks follow each other, and only the first may be on the diagonal.
    if (k + 1 < count && blocks[k + 1].column_panel == blocks[k].column_panel) {
      const std::byte* next_rows = operands(packed, blocks[k + 1]).rows;
      if (diagonal) {
        add_two_blocks<Tiles, true>(tiles, rows, next_rows, columns, packed.steps, at, ahead);
      } else {
        add_two_blocks<Tiles, false>(tiles, rows, next_rows, columns, packed.steps, at, ahead);
      }
      k += 2;
      continue;
    }
    if (diagonal) {
      add_block<Tiles, true>(tiles, rows, columns, packed.steps, at, ahead);
    } else {
      add_block<Tiles, false>(tiles, rows, columns, packed.steps, at, ahead);
    }
    ++k;
  }
}

template <class Tiles>
void multiply(const Block* blocks, std::size_t count, const Packed& packed, std::int32_t* sums,
              Prefetch& lines) {
  FetchAhead ahead{lines, lines.lines_in(packed.steps)};
  add_blocks<Tiles>(blocks, count, packed, sums, ahead);
}

template <class Tiles>
void multiply_and_pack(const Block* blocks, std::size_t count, const Packed& packed,
                       std::int32_t* sums, const Packer::Chunk& next, Prefetch& lines) {
  Packer packer(next);
  const std::size_t steps = count * packed.steps;
  PackAhead ahead{
      {lines, lines.lines_in(packed.steps)}, packer, (packer.slices_left() + steps - 1) / steps};
  add_blocks<Tiles>(blocks, count, packed, sums, ahead);
  packer.finish();
}

template <class Tiles>
constexpr IntegerKernel kernel(const char* name) {
  return {.backend = name,
          .step_samples = kStepSamples,
          .step_bytes = kStepBytes,
          // The column panel (24 KiB) then stays in a 48 KiB first-level cache while row panels
          // (16 KiB each) stream past it from the second level at half of what it can give.
          .max_chunk_samples = 512,
          .half_diagonal = true,
          .pack = pack,
          .multiply = multiply<Tiles>,
          .multiply_and_pack = multiply_and_pack<Tiles>};
}

}  // namespace tautline::stages::correlate::cpu::amx
