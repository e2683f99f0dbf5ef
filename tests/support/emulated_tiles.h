// The tile registers of AMX in plain memory, so that any machine with VNNI checks everything of a
// loop over them but the instructions themselves.
//
// Include it as tautline/device/cpu/amx_tiles.h is: where the target options hold, after the
// standard library's headers.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tautline::tests {

/// TILEZERO, TILELOADD, TILESTORED, TDPBSSD and TDPBUUD, as the architecture's manual defines them.
class EmulatedTiles {
 public:
  EmulatedTiles() {
    // Registers hold anything before they are first written.
    for (auto& tile : tiles_) std::memset(tile, 0x5a, sizeof tile);
  }
  template <int kTile>
  void zero() {
    std::memset(tiles_[kTile], 0, kBytes);
  }
  template <int kTile>
  void load(const void* bytes) {
    std::memcpy(tiles_[kTile], bytes, kBytes);
  }
  template <int kTile>
  void load_passing(const void* bytes) {
    load<kTile>(bytes);
  }
  template <int kTile>
  void store(void* bytes, long row_bytes = kRowBytes) {
    for (int row = 0; row < kRows; ++row)
      std::memcpy(static_cast<std::byte*>(bytes) + row * row_bytes, tiles_[kTile] + row * kRowBytes,
                  kRowBytes);
  }
  template <int kSum, int kLeft, int kRight>
  void dot_signed() {
    dot(kSum, kLeft, kRight);
  }

 private:
  static constexpr int kRows = 16;
  static constexpr long kRowBytes = 64;
  static constexpr std::size_t kBytes = kRows * kRowBytes;

  /// sum[m][n] += sum over k, q of left[m][4k+q] right[k][4n+q]. VNNI's four products are of
  /// unsigned bytes on the left and signed ones on the right.
  void dot(int sum_tile, int left_tile, int right_tile) {
    const __m512i bias = _mm512_set1_epi8(-128), ones = _mm512_set1_epi8(1);
    for (int m = 0; m < kRows; ++m) {
      __m512i sum = _mm512_loadu_si512(tiles_[sum_tile] + m * kRowBytes);
      for (int k = 0; k < kRows; ++k) {
        int word;
        std::memcpy(&word, tiles_[left_tile] + m * kRowBytes + k * 4, sizeof word);
        const __m512i left = _mm512_set1_epi32(word);
        const __m512i right = _mm512_loadu_si512(tiles_[right_tile] + k * kRowBytes);
        const __m512i zero = _mm512_setzero_si512();
        // x y = (x + 128) y - 128 y
        sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(left, bias), right);
        sum = _mm512_sub_epi32(sum, _mm512_slli_epi32(_mm512_dpbusd_epi32(zero, ones, right), 7));
      }
      _mm512_storeu_si512(tiles_[sum_tile] + m * kRowBytes, sum);
    }
  }

  std::uint8_t tiles_[8][kBytes];
};

}  // namespace tautline::tests
