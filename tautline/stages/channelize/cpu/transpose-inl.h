// Transposition of rows of spectra to lanes of spectra and back. Included once per instruction set.
//
// A lane group has kLanes spectra, one a lane: complex value c of all of them is kLanes real parts,
// then kLanes imaginary parts, at group + c * 2 kLanes.
#if defined(TAUTLINE_CHANNELIZE_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_TRANSPOSE_INL_H
#undef TAUTLINE_CHANNELIZE_TRANSPOSE_INL_H
#else
#define TAUTLINE_CHANNELIZE_TRANSPOSE_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

#if HWY_TARGET == HWY_AVX3
#define TAUTLINE_SQUARE_TRANSPOSE 1
inline constexpr std::size_t kLanes = 16;

// 16 x 16: first pairs and quads within 128-bit blocks, then the blocks.
HWY_INLINE void transpose(FloatVec (&v)[16]) {
  __m512 a[16], b[16];
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_ps(v[i].raw, v[i + 1].raw);
    a[i + 1] = _mm512_unpackhi_ps(v[i].raw, v[i + 1].raw);
  }
  const auto low = [](__m512 x, __m512 y) HWY_ATTR {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto high = [](__m512 x, __m512 y) HWY_ATTR {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  // b[4 g + j], block q: column 4 q + j of rows 4 g .. 4 g + 3
  for (int g = 0; g < 16; g += 4) {
    b[g] = low(a[g], a[g + 2]);
    b[g + 1] = high(a[g], a[g + 2]);
    b[g + 2] = low(a[g + 1], a[g + 3]);
    b[g + 3] = high(a[g + 1], a[g + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 even_low = _mm512_shuffle_f32x4(b[j], b[4 + j], 0x88);
    const __m512 odd_low = _mm512_shuffle_f32x4(b[j], b[4 + j], 0xdd);
    const __m512 even_high = _mm512_shuffle_f32x4(b[8 + j], b[12 + j], 0x88);
    const __m512 odd_high = _mm512_shuffle_f32x4(b[8 + j], b[12 + j], 0xdd);
    v[j] = FloatVec{_mm512_shuffle_f32x4(even_low, even_high, 0x88)};
    v[4 + j] = FloatVec{_mm512_shuffle_f32x4(odd_low, odd_high, 0x88)};
    v[8 + j] = FloatVec{_mm512_shuffle_f32x4(even_low, even_high, 0xdd)};
    v[12 + j] = FloatVec{_mm512_shuffle_f32x4(odd_low, odd_high, 0xdd)};
  }
}
#elif HWY_TARGET == HWY_AVX2
#define TAUTLINE_SQUARE_TRANSPOSE 1
inline constexpr std::size_t kLanes = 8;

HWY_INLINE void transpose(FloatVec (&v)[8]) {
  __m256 a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(v[i].raw, v[i + 1].raw);
    a[i + 1] = _mm256_unpackhi_ps(v[i].raw, v[i + 1].raw);
  }
  for (int g = 0; g < 8; g += 4) {
    b[g] = _mm256_shuffle_ps(a[g], a[g + 2], 0x44);
    b[g + 1] = _mm256_shuffle_ps(a[g], a[g + 2], 0xee);
    b[g + 2] = _mm256_shuffle_ps(a[g + 1], a[g + 3], 0x44);
    b[g + 3] = _mm256_shuffle_ps(a[g + 1], a[g + 3], 0xee);
  }
  for (int j = 0; j < 4; ++j) {
    v[j] = FloatVec{_mm256_permute2f128_ps(b[j], b[4 + j], 0x20)};
    v[4 + j] = FloatVec{_mm256_permute2f128_ps(b[j], b[4 + j], 0x31)};
  }
}
#else
#undef TAUTLINE_SQUARE_TRANSPOSE
// More lanes than most registers have: loops over them are long enough for the compiler to
// vectorise.
inline constexpr std::size_t kLanes = 16;
#endif

/// group[j] lane s = rows[s * stride + j] for the 2 * count floats of `count` complex values.
inline void rows_to_lanes(const float* rows, std::size_t stride, std::size_t count, float* group) {
  std::size_t j = 0;
#ifdef TAUTLINE_SQUARE_TRANSPOSE
  const FloatTag d;
  for (; j + kLanes <= 2 * count; j += kLanes) {
    FloatVec v[kLanes];
    for (std::size_t s = 0; s < kLanes; ++s) v[s] = hn::LoadU(d, rows + s * stride + j);
    transpose(v);
    for (std::size_t s = 0; s < kLanes; ++s) hn::Store(v[s], d, group + (j + s) * kLanes);
  }
  const hn::RebindToSigned<FloatTag> di;
  const auto index = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(stride)));
  for (; j < 2 * count; ++j) hn::Store(hn::GatherIndex(d, rows + j, index), d, group + j * kLanes);
#endif
  for (; j < 2 * count; ++j)
    for (std::size_t s = 0; s < kLanes; ++s) group[j * kLanes + s] = rows[s * stride + j];
}

/// The inverse of rows_to_lanes, for the first `spectra` rows.
inline void lanes_to_rows(const float* group, std::size_t count, float* rows, std::size_t stride,
                          std::size_t spectra) {
  std::size_t j = 0;
#ifdef TAUTLINE_SQUARE_TRANSPOSE
  const FloatTag d;
  for (; j + kLanes <= 2 * count; j += kLanes) {
    FloatVec v[kLanes];
    for (std::size_t s = 0; s < kLanes; ++s) v[s] = hn::Load(d, group + (j + s) * kLanes);
    transpose(v);
    if (spectra == kLanes)
      for (std::size_t s = 0; s < kLanes; ++s) hn::StoreU(v[s], d, rows + s * stride + j);
    else
      for (std::size_t s = 0; s < spectra; ++s) hn::StoreU(v[s], d, rows + s * stride + j);
  }
#endif
  for (; j < 2 * count; ++j)
    for (std::size_t s = 0; s < spectra; ++s) rows[s * stride + j] = group[j * kLanes + s];
}

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
