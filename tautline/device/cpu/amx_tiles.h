// The tile registers of AMX: products of 16 x 16 x 64 bytes at a time.
//
// For files that compile for these processors only: include it where their target options hold, and
// <cstdint> before that. Stages write their loops over any class with these operations, so that a
// test can run them on an emulation (tests/support/emulated_tiles.h).
#pragma once

#include <cstdint>

namespace tautline::device::cpu {

// The operand of ldtilecfg, as the architecture defines it: palette 1, and each of eight tiles 16
// rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

/// Eight tiles of 16 rows x 64 bytes of the calling thread, from construction to destruction.
/// device::supported() has asked the kernel for them.
///
/// The instructions are written out because GCC 12's intrinsics paste the tile number into the
/// text, so it cannot be a template's parameter, and do not say which memory they read.
class HardwareTiles {
 public:
  HardwareTiles() {
    const TileConfig config;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~HardwareTiles() { asm volatile("tilerelease"); }
  HardwareTiles(const HardwareTiles&) = delete;
  HardwareTiles& operator=(const HardwareTiles&) = delete;

  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  /// The tile becomes 1024 bytes, 64 a row.
  template <int kTile>
  void load(const void* bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(bytes), "r"(kRowBytes), "i"(kTile)
                 : "memory");
  }
  /// The same for bytes that will not be needed again soon.
  template <int kTile>
  void load_passing(const void* bytes) {
    asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(bytes), "r"(kRowBytes), "i"(kTile)
                 : "memory");
  }
  /// Rows go to memory so far apart.
  template <int kTile>
  void store(void* bytes, long row_bytes = kRowBytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(bytes), "r"(row_bytes), "i"(kTile)
                 : "memory");
  }
  /// kSum[m][n] += sum over k, q of kLeft[m][4k+q] kRight[k][4n+q], signed bytes, 32-bit sums.
  template <int kSum, int kLeft, int kRight>
  void dot_signed() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
  }

 private:
  static constexpr long kRowBytes = 64;
};

}  // namespace tautline::device::cpu
