// Packing of 8-bit rows for AMX, in AVX-512 (F and BW) and VNNI.
//
// Like cpu_pack8.h, only for files that include it with exactly those instructions switched on.
//
// One step is 64 samples of 16 inputs, as re and im tiles of 16 rows of 64 bytes. A packed panel is
//   rows:    [step][re, im]: the left factors;
//   columns: [step][re, im, ~im], each tile with its 4-byte words transposed: the right factors.
// The complement stands for -im, which does not fit a byte when im = -128; what it lacks, -x = ~x + 1,
// is one correction a row (docs/maths/correlate.md).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "tautline/stages/correlate/cpu.h"
#include "tautline/stages/correlate/cpu_pack8.h"

namespace tautline::stages::correlate::cpu::amx {

using pack8::kStepSamples;
using pack8::kTileBytes;

inline constexpr std::size_t kRowTiles = 2;     // re, im
inline constexpr std::size_t kColumnTiles = 3;  // re, im, ~im
inline constexpr std::size_t kRowBytes = kRowTiles * kTileBytes;
inline constexpr std::size_t kColumnBytes = kColumnTiles * kTileBytes;
inline constexpr std::size_t kStepBytes = kRowBytes + kColumnBytes;

/// Packs panels one after the other, in slices of a few dozen instructions, so that they can be
/// strewn among the products of another chunk: a slice separates two rows of one step and transposes
/// a quarter of a tile of the step before.
class Packer {
 public:
  using Chunk = NextChunk<core::ci8, std::int32_t>;

  explicit Packer(const Chunk& chunk)
      : chunk_(chunk), slices_left_((chunk.panels * chunk.steps + 1) * kSlices) {}

  std::size_t slices_left() const { return slices_left_; }

  void slice() {
    if (slices_left_ == 0) return;
    --slices_left_;
    if (slices_left_ >= kSlices) separate();  // not yet the last step's transposition
    if (columns_ != nullptr) transpose();
    if (++part_ == kSlices) next_step();
  }

  void finish() {
    while (slices_left_ > 0) slice();
  }

 private:
  static constexpr std::size_t kSlices = 8;  // a step's: four quarters of the re tile, four of im
  static constexpr std::size_t kRowsPerSlice = kPanel / kSlices;
  // Raw rows are fetched this many panels before they are separated: far enough for memory's
  // latency, and near enough for rows a power of two apart, which crowd a few sets of the cache.
  static constexpr std::size_t kPanelsAhead = 2;

  void separate() {
    const std::size_t row = panel_ * kPanel + part_ * kRowsPerSlice;
    const bool fetch = panel_ + kPanelsAhead < chunk_.panels;
    std::byte* out = rows_of(panel_, step_) + part_ * kRowsPerSlice * 64;
    for (std::size_t r = 0; r < kRowsPerSlice; ++r) {
      if (fetch) {
        const core::ci8* later = chunk_.rows[row + r + kPanelsAhead * kPanel] + step_ * kStepSamples;
        __builtin_prefetch(later);
        __builtin_prefetch(later + kStepSamples / 2);
      }
      pack8::separate_step(chunk_.rows[row + r] + step_ * kStepSamples, out + r * 64);
    }
  }

  void transpose() {
    const std::size_t quarter = part_ % 4;
    if (part_ < 4) {
      pack8::transpose_quarter(rows_, quarter, [&](std::size_t word, __m512i v) {
        sum_ = _mm512_dpbusd_epi32(sum_, _mm512_set1_epi8(1), v);
        _mm512_store_si512(columns_ + word * 64, v);
      });
    } else {
      pack8::transpose_quarter(rows_ + kTileBytes, quarter, [&](std::size_t word, __m512i v) {
        _mm512_store_si512(columns_ + kTileBytes + word * 64, v);
        _mm512_store_si512(columns_ + 2 * kTileBytes + word * 64,
                           _mm512_ternarylogic_epi32(v, v, v, 0x55));  // not v
      });
    }
    if (part_ == kSlices - 1 && ends_panel_) end_panel();
  }

  // sum (b c + a ~d) = im - sum a.
  void end_panel() {
    std::int32_t* at = corrections_ + kPanel;
    _mm512_storeu_si512(at, _mm512_sub_epi32(_mm512_loadu_si512(at), sum_));
    sum_ = _mm512_setzero_si512();
  }

  std::byte* rows_of(std::size_t panel, std::size_t step) const {
    return chunk_.packed + panel * chunk_.panel_bytes + step * kRowBytes;
  }

  void next_step() {
    part_ = 0;
    rows_ = rows_of(panel_, step_);
    columns_ = rows_of(panel_, chunk_.steps) + step_ * kColumnBytes;
    corrections_ = chunk_.corrections + panel_ * kCorrections;
    ends_panel_ = ++step_ == chunk_.steps;
    if (!ends_panel_) return;
    step_ = 0;
    ++panel_;
  }

  Chunk chunk_;
  std::size_t slices_left_;
  std::size_t panel_ = 0, step_ = 0, part_ = 0;
  // The step that is being transposed.
  const std::byte* rows_ = nullptr;
  std::byte* columns_ = nullptr;
  std::int32_t* corrections_ = nullptr;
  bool ends_panel_ = false;
  __m512i sum_ = _mm512_setzero_si512();  // of the re bytes of its panel's 16 rows so far
};

/// Packs one panel at once.
inline void pack(const core::ci8* const* rows, std::size_t steps, std::byte* panel,
                 std::int32_t* corrections) {
  Packer({rows, 1, steps, panel, 0, corrections}).finish();
}

}  // namespace tautline::stages::correlate::cpu::amx
