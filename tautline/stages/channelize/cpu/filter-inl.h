// The filter: weighted sums of a column of frames. Included once per instruction set.
//
// Samples are counted in components: a frame of C complex or 2C real samples has 2C components, and
// coefficients are stored one a component.
#if defined(TAUTLINE_CHANNELIZE_FILTER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_FILTER_INL_H
#undef TAUTLINE_CHANNELIZE_FILTER_INL_H
#else
#define TAUTLINE_CHANNELIZE_FILTER_INL_H
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "tautline/stages/channelize/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

/// Loads kLanes components as floats.
template <class T>
HWY_INLINE FloatVec load_components(const T* from) {
  const FloatTag d;
  if constexpr (std::is_same_v<T, float>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Rebind<std::int32_t, FloatTag> wide;
    const hn::Rebind<T, FloatTag> narrow;
    return hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(narrow, from)));
  }
}

/// The columns of one call of filter_columns. Frames, and the coefficients of successive taps, are
/// `frame` components apart.
template <class T>
struct Columns {
  const T* samples;           ///< of this column, first tap of the first spectrum
  const float* coefficients;  ///< of this column, first tap
  std::size_t frame;
  std::size_t taps;
  std::size_t spectra;
  float* out;  ///< spectrum s goes to out + s * out_stride
  std::size_t out_stride;
};

// Adds K taps from `tap` for every spectrum of a critically sampled bank. Each frame is converted
// once and used for K spectra, from a window of registers.
template <int K, bool kAdd, class T>
HWY_INLINE void slide(const Columns<T>& c, std::size_t tap) {
  const FloatTag d;
  const T* x = c.samples + tap * c.frame;
  FloatVec h[K], window[K];
#pragma GCC unroll 8
  for (int t = 0; t < K; ++t) h[t] = hn::LoadU(d, c.coefficients + (tap + t) * c.frame);
#pragma GCC unroll 8
  for (int t = 0; t + 1 < K; ++t) window[t] = load_components(x + t * c.frame);
  std::size_t s = 0;
  for (; s + K <= c.spectra; s += K) {
#pragma GCC unroll 8
    for (int j = 0; j < K; ++j) {
      window[(j + K - 1) % K] = load_components(x + (s + j + K - 1) * c.frame);
      float* out = c.out + (s + j) * c.out_stride;
      FloatVec sum =
          kAdd ? hn::MulAdd(h[0], window[j % K], hn::LoadU(d, out)) : hn::Mul(h[0], window[j % K]);
#pragma GCC unroll 8
      for (int t = 1; t < K; ++t) sum = hn::MulAdd(h[t], window[(j + t) % K], sum);
      hn::StoreU(sum, d, out);
    }
  }
  for (; s < c.spectra; ++s) {
    float* out = c.out + s * c.out_stride;
    const FloatVec first = load_components(x + s * c.frame);
    FloatVec sum = kAdd ? hn::MulAdd(h[0], first, hn::LoadU(d, out)) : hn::Mul(h[0], first);
#pragma GCC unroll 8
    for (int t = 1; t < K; ++t) sum = hn::MulAdd(h[t], load_components(x + (s + t) * c.frame), sum);
    hn::StoreU(sum, d, out);
  }
}

template <bool kAdd, class T>
HWY_INLINE std::size_t slide_some(const Columns<T>& c, std::size_t tap) {
  const std::size_t left = c.taps - tap;
  if (left >= 8) return slide<8, kAdd>(c, tap), 8;
  if (left >= 4) return slide<4, kAdd>(c, tap), 4;
  if (left >= 2) return slide<2, kAdd>(c, tap), 2;
  return slide<1, kAdd>(c, tap), 1;
}

// Filters one spectrum, with its taps in the same order as filter_columns.
template <class T>
HWY_INLINE void filter_one(const Columns<T>& c) {
  const FloatTag d;
  FloatVec sum = hn::Mul(hn::LoadU(d, c.coefficients), load_components(c.samples));
  for (std::size_t t = 1; t < c.taps; ++t)
    sum = hn::MulAdd(hn::LoadU(d, c.coefficients + t * c.frame),
                     load_components(c.samples + t * c.frame), sum);
  hn::StoreU(sum, d, c.out);
}

/// out[s][lane] = sum over t, in order, of coefficient[t][lane] * sample[s + t][lane].
template <class T>
HWY_INLINE void filter_columns(const Columns<T>& c) {
  std::size_t tap = slide_some<false>(c, 0);
  while (tap < c.taps) tap += slide_some<true>(c, tap);
}

/// Filters components [first, first + count) of one frame in plain loops, where registers would not
/// be full.
template <class T>
inline void filter_row(const T* samples, const float* coefficients, std::size_t frame,
                       std::size_t taps, std::size_t first, std::size_t count, float* out) {
  const T* x = samples + first;
  const float* h = coefficients + first;
  for (std::size_t p = 0; p < count; ++p) out[p] = h[p] * static_cast<float>(x[p]);
  for (std::size_t t = 1; t < taps; ++t) {
    x += frame, h += frame;
    for (std::size_t p = 0; p < count; ++p) out[p] += h[p] * static_cast<float>(x[p]);
  }
}

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
