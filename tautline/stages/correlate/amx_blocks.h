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
// A product takes the tile unit 16 cycles, and a tile load 8 from the first-level cache or some 25
// from the second; a product must wait some 52 cycles for the one before it in its tile. Hence four
// tiles of products in turn; and two panels' row factors that stay in the first-level cache (24 KiB
// at 256 samples) while column panels stream past them, two loads from the second level for eight
// products. Products are added to the sums by vector code, during the products of the next blocks:
// tiles that began as the sums would make each block wait for the one before it to be stored.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "tautline/stages/correlate/amx_pack.h"
#include "tautline/stages/correlate/cpu.h"

namespace tautline::stages::correlate::cpu::amx {

// With x_i = a + ib, x_j = c + id: re += a c + b d;  im += b c + ~a d, or b c alone on the
// diagonal, where a d is its transpose.

/// Products that have yet to be added to their sums.
class Pending {
 public:
  Pending() {}  // products_ holds anything before it is used
  /// The memory for the products of the next blocks; the last ones stay where they are.
  std::int32_t* memory() {
    current_ = 1 - current_;
    return products_[current_];
  }
  /// `sums` += the first two blocks' worth of what memory() holds now, or, for one block whose
  /// products were made in two halves, both halves of it.
  void set(std::int32_t* sums, bool halves) {
    sums_ = sums;
    from_ = products_[current_];
    second_ = halves ? kSumsPerBlock : 0;
    left_ = (halves ? kSumsPerBlock : 2 * kSumsPerBlock) / kLanes;
  }
  std::size_t in_parts(std::size_t parts) const { return (left_ + parts - 1) / parts; }

  [[gnu::always_inline]] void add(std::size_t vectors) {
    for (vectors = std::min(vectors, left_), left_ -= vectors; vectors > 0; --vectors) {
      __m512i v = _mm512_add_epi32(_mm512_load_si512(sums_), _mm512_load_si512(from_));
      if (second_ != 0) v = _mm512_add_epi32(v, _mm512_load_si512(from_ + second_));
      _mm512_store_si512(sums_, v);
      sums_ += kLanes;
      from_ += kLanes;
    }
  }
  void finish() { add(left_); }

 private:
  static constexpr std::size_t kLanes = 16;

  alignas(64) std::int32_t products_[2][2 * kSumsPerBlock];
  std::size_t current_ = 0;
  std::int32_t* sums_ = nullptr;
  const std::int32_t* from_ = nullptr;
  std::size_t second_ = 0;
  std::size_t left_ = 0;
};

/// What goes on beside the products: the last ones are added to their sums, and lines fetched.
struct Beside {
  Pending pending;
  Prefetch& lines;
  std::size_t lines_per_step;  ///< of one block
};

/// Two blocks of one column panel.
template <class Tiles, bool kDiagonal>
void add_two_blocks(Tiles& tiles, const std::byte* rows, const std::byte* next_rows,
                    const std::byte* columns, std::size_t steps, std::int32_t* sums,
                    Beside& beside) {
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  const std::size_t vectors = beside.pending.in_parts(steps);
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load<4>(columns);  // c
    tiles.template load<6>(rows);     // a
    tiles.template dot<0, 6, 4>();
    tiles.template load<7>(rows + kTileBytes);  // b
    tiles.template dot<1, 7, 4>();
    tiles.template load<6>(next_rows);
    tiles.template dot<2, 6, 4>();
    tiles.template load<6>(next_rows + kTileBytes);
    tiles.template dot<3, 6, 4>();
    tiles.template load<5>(columns + kTileBytes);  // d
    tiles.template dot<0, 7, 5>();
    if constexpr (!kDiagonal) {
      tiles.template load<7>(rows + 2 * kTileBytes);  // ~a
      tiles.template dot<1, 7, 5>();
    }
    tiles.template dot<2, 6, 5>();
    tiles.template load<7>(next_rows + 2 * kTileBytes);
    tiles.template dot<3, 7, 5>();
    beside.pending.add(vectors);
    beside.lines.fetch(2 * beside.lines_per_step);
    rows += kRowBytes;
    next_rows += kRowBytes;
    columns += kColumnBytes;
  }
  std::int32_t* products = beside.pending.memory();
  tiles.template store<0>(products);
  tiles.template store<1>(products + kBlock);
  tiles.template store<2>(products + 2 * kBlock);
  tiles.template store<3>(products + 3 * kBlock);
  beside.pending.set(sums, false);
}

/// One block. Each part of the sums is made in two tiles, so that there are four.
template <class Tiles, bool kDiagonal>
void add_block(Tiles& tiles, const std::byte* rows, const std::byte* columns, std::size_t steps,
               std::int32_t* sums, Beside& beside) {
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  const std::size_t vectors = beside.pending.in_parts(steps);
  for (std::size_t s = 0; s < steps; ++s) {
    tiles.template load<4>(columns);  // c
    tiles.template load<6>(rows);     // a
    tiles.template dot<0, 6, 4>();
    tiles.template load<7>(rows + kTileBytes);  // b
    tiles.template dot<1, 7, 4>();
    tiles.template load<5>(columns + kTileBytes);  // d
    tiles.template dot<2, 7, 5>();
    if constexpr (!kDiagonal) {
      tiles.template load<6>(rows + 2 * kTileBytes);  // ~a
      tiles.template dot<3, 6, 5>();
    }
    beside.pending.add(vectors);
    beside.lines.fetch(beside.lines_per_step);
    rows += kRowBytes;
    columns += kColumnBytes;
  }
  std::int32_t* products = beside.pending.memory();
  tiles.template store<0>(products);
  tiles.template store<1>(products + kBlock);
  tiles.template store<2>(products + 2 * kBlock);
  tiles.template store<3>(products + 3 * kBlock);
  beside.pending.set(sums, true);
}

template <class Tiles>
void multiply(const Block* blocks, std::size_t count, const Packed& packed, std::int32_t* sums,
              Prefetch& lines) {
  Tiles tiles;
  Beside beside{{}, lines, lines.lines_in(packed.steps)};
  for (std::size_t k = 0; k < count;) {
    const auto [row, column] = blocks[k];
    const std::byte* rows = packed.row_factors(row);
    const std::byte* columns = packed.panel(column);
    std::int32_t* at = sums + k * kSumsPerBlock;
    // A column's blocks in a group follow each other, and only the first may be on the diagonal.
    const bool two = k + 1 < count && blocks[k + 1].column_panel == column;
    const std::byte* next_rows = two ? packed.row_factors(blocks[k + 1].row_panel) : nullptr;
    if (two && row == column) {
      add_two_blocks<Tiles, true>(tiles, rows, next_rows, columns, packed.steps, at, beside);
    } else if (two) {
      add_two_blocks<Tiles, false>(tiles, rows, next_rows, columns, packed.steps, at, beside);
    } else if (row == column) {
      add_block<Tiles, true>(tiles, rows, columns, packed.steps, at, beside);
    } else {
      add_block<Tiles, false>(tiles, rows, columns, packed.steps, at, beside);
    }
    k += two ? 2 : 1;
  }
  beside.pending.finish();
}

template <class Tiles>
constexpr IntegerKernel kernel(const char* name) {
  return {.backend = name,
          .step_samples = kStepSamples,
          .step_bytes = kColumnBytes,
          .step_row_bytes = kRowBytes,
          .max_chunk_samples = 256,
          .group_panels = 2,
          .half_diagonal = true,
          .corrects = Corrects::columns,
          .pack = pack,
          .multiply = multiply<Tiles>};
}

}  // namespace tautline::stages::correlate::cpu::amx
