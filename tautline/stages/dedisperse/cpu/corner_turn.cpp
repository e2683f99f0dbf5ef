// Spectra to rows, kCornerTurnTimes at once: one body, compiled for each instruction set by
// Highway.
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/dedisperse/cpu/corner_turn.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include <cstring>

#include "tautline/stages/dedisperse/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::dedisperse::HWY_NAMESPACE {

template <class T>
void turn_plain(const std::byte* spectra, std::size_t stride_bytes, std::size_t first,
                std::size_t channels, std::byte* const* out) {
  for (std::size_t c = first; c < channels; ++c)
    for (std::size_t t = 0; t < kCornerTurnTimes; ++t)
      std::memcpy(out[c] + t * sizeof(T), spectra + t * stride_bytes + c * sizeof(T), sizeof(T));
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

template <class T>
void corner_turn(const std::byte* spectra, std::size_t stride_bytes, std::size_t channels,
                 std::byte* const* out) {
  turn_plain<T>(spectra, stride_bytes, 0, channels, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlockBytes = 16;  // interleaving works inside blocks of this size
#if HWY_HAVE_SCALABLE
constexpr std::size_t kVectorBytes = kBlockBytes;
#else
constexpr std::size_t kVectorBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
#endif

// The blocks at `from` and at whole multiples of `distance` after it, side by side in one vector.
template <class T, std::size_t kBytes>
HWY_INLINE auto gather_blocks(const std::byte* from, std::size_t distance) {
  const hn::CappedTag<T, kBytes / sizeof(T)> d;
  if constexpr (kBytes == kBlockBytes) {
    (void)distance;
    return hn::LoadU(d, reinterpret_cast<const T*>(from));
  } else {
    return hn::Combine(
        d, gather_blocks<T, kBytes / 2>(from + kBytes / 2 / kBlockBytes * distance, distance),
        gather_blocks<T, kBytes / 2>(from, distance));
  }
}

// Transposes the square of elements in each block of kCount vectors; every pass is a perfect shuffle.
template <std::size_t kCount, class D, class V>
HWY_INLINE void transpose_squares(D d, V (&v)[kCount]) {
  for (std::size_t pass = 1; pass < kCount; pass *= 2) {
    V next[kCount];
    for (std::size_t k = 0; k < kCount / 2; ++k) {
      next[2 * k] = hn::InterleaveLower(d, v[k], v[k + kCount / 2]);
      next[2 * k + 1] = hn::InterleaveUpper(d, v[k], v[k + kCount / 2]);
    }
    for (std::size_t k = 0; k < kCount; ++k) v[k] = next[k];
  }
}

template <class T>
void corner_turn(const std::byte* spectra, std::size_t stride_bytes, std::size_t channels,
                 std::byte* const* out) {
  constexpr std::size_t kSide = kBlockBytes / sizeof(T);  // channels, and times of a block
  constexpr std::size_t kTimes = kVectorBytes / sizeof(T);
  const hn::CappedTag<T, kTimes> d;
  std::size_t c = 0;
  for (; c + kSide <= channels; c += kSide) {
    for (std::size_t t = 0; t < kCornerTurnTimes; t += kTimes) {
      const std::byte* from = spectra + t * stride_bytes + c * sizeof(T);
      hn::Vec<decltype(d)> v[kSide];
      for (std::size_t k = 0; k < kSide; ++k)
        v[k] = gather_blocks<T, kVectorBytes>(from + k * stride_bytes, kSide * stride_bytes);
      transpose_squares<kSide>(d, v);
      for (std::size_t k = 0; k < kSide; ++k)
        hn::StoreU(v[k], d, reinterpret_cast<T*>(out[c + k] + t * sizeof(T)));
    }
  }
  turn_plain<T>(spectra, stride_bytes, c, channels, out);
}

#endif

constexpr CornerTurn corner_turn_of(std::size_t bytes) {
  if (bytes == 1) return corner_turn<std::uint8_t>;
  return bytes == 2 ? corner_turn<std::uint16_t> : corner_turn<std::uint32_t>;
}

}  // namespace tautline::stages::dedisperse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tautline::stages::dedisperse {

CornerTurn corner_turn_for([[maybe_unused]] device::InstructionSet set, std::size_t bytes) {
#if HWY_TARGETS & HWY_AVX3
  if (set >= device::InstructionSet::avx512) return N_AVX3::corner_turn_of(bytes);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (set >= device::InstructionSet::avx2) return N_AVX2::corner_turn_of(bytes);
#endif
  return HWY_NAMESPACE::corner_turn_of(bytes);
}

}  // namespace tautline::stages::dedisperse

#endif  // HWY_ONCE
