// Discrete Fourier transforms of 2 to 32 points in registers, one transform a lane. Included once
// per instruction set.
#if defined(TAUTLINE_CHANNELIZE_DFT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_DFT_INL_H
#undef TAUTLINE_CHANNELIZE_DFT_INL_H
#else
#define TAUTLINE_CHANNELIZE_DFT_INL_H
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "tautline/stages/channelize/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

#ifdef TAUTLINE_SQUARE_TRANSPOSE

/// Complex values of kLanes transforms.
struct Lanes {
  FloatVec re, im;
};

HWY_INLINE Lanes operator+(Lanes a, Lanes b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
HWY_INLINE Lanes operator-(Lanes a, Lanes b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
/// a - i b and a + i b: multiplying by i exchanges the parts, which costs no instruction.
HWY_INLINE Lanes minus_i(Lanes a, Lanes b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
HWY_INLINE Lanes plus_i(Lanes a, Lanes b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

HWY_INLINE Lanes multiply(Lanes a, float re, float im) {
  const FloatTag d;
  const FloatVec c = hn::Set(d, re), s = hn::Set(d, im);
  return {hn::NegMulAdd(a.im, s, hn::Mul(a.re, c)), hn::MulAdd(a.im, c, hn::Mul(a.re, s))};
}

/// cos(2 pi j / 32) for j up to 8; with minus_sine32, exp(-2 pi i j / 32).
inline constexpr float kCosine32[9] = {1.0f,
                                       0.980785280403230f,
                                       0.923879532511287f,
                                       0.831469612302545f,
                                       0.707106781186548f,
                                       0.555570233019602f,
                                       0.382683432365090f,
                                       0.195090322016128f,
                                       0.0f};
constexpr float cosine32(int j) {
  j = (j % 32 + 32) % 32;
  if (j > 16) j = 32 - j;
  return j <= 8 ? kCosine32[j] : -kCosine32[16 - j];
}
constexpr float minus_sine32(int j) {
  return cosine32(j + 8);
}

/// a exp(-2 pi i J / 32)
template <int J>
HWY_INLINE Lanes twiddle32(Lanes a) {
  constexpr int j = J % 32;
  if constexpr (j == 0) {
    return a;
  } else if constexpr (j == 8) {
    return {a.im, hn::Neg(a.re)};
  } else {
    constexpr float re = cosine32(j), im = minus_sine32(j);
    return multiply(a, re, im);
  }
}

HWY_INLINE void dft2(Lanes& a, Lanes& b) {
  const Lanes t = a - b;
  a = a + b;
  b = t;
}

/// In place, in natural order.
HWY_INLINE void dft4(Lanes& a, Lanes& b, Lanes& c, Lanes& d) {
  const Lanes even = a + c, odd = b + d, even_difference = a - c, odd_difference = b - d;
  a = even + odd;
  b = minus_i(even_difference, odd_difference);
  c = even - odd;
  d = plus_i(even_difference, odd_difference);
}

HWY_INLINE void dft8(Lanes (&x)[8]) {
  dft4(x[0], x[2], x[4], x[6]);
  dft4(x[1], x[3], x[5], x[7]);
  const Lanes o0 = x[1], o1 = twiddle32<4>(x[3]), o2 = x[5], o3 = twiddle32<12>(x[7]);
  const Lanes e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6];
  x[0] = e0 + o0;
  x[1] = e1 + o1;
  x[2] = minus_i(e2, o2);
  x[3] = e3 + o3;
  x[4] = e0 - o0;
  x[5] = e1 - o1;
  x[6] = plus_i(e2, o2);
  x[7] = e3 - o3;
}

template <int kPoints>
HWY_INLINE void dft_in_registers(Lanes (&x)[kPoints]) {
  if constexpr (kPoints == 2) dft2(x[0], x[1]);
  if constexpr (kPoints == 4) dft4(x[0], x[1], x[2], x[3]);
  if constexpr (kPoints == 8) dft8(x);
}

/// Values `stride` floats apart: kLanes real parts, then kLanes imaginary parts.
struct Load {
  const float* from;
  std::size_t stride;
  HWY_INLINE Lanes operator()(std::size_t n) const {
    const FloatTag d;
    return {hn::Load(d, from + n * stride), hn::Load(d, from + n * stride + kLanes)};
  }
};

struct Store {
  float* to;
  std::size_t stride;
  HWY_INLINE void operator()(std::size_t k, Lanes value) const {
    const FloatTag d;
    hn::Store(value.re, d, to + k * stride);
    hn::Store(value.im, d, to + k * stride + kLanes);
  }
};

/// Stores value k times twiddle k.
struct StoreTwiddled {
  Store store;
  const float* twiddles;  ///< re, im for each k
  HWY_INLINE void operator()(std::size_t k, Lanes value) const {
    store(k, k == 0 ? value : multiply(value, twiddles[2 * k], twiddles[2 * k + 1]));
  }
};

// kPoints = A B, n = B a + b, k = ka + A kb: column b is the DFT over a, times the twiddle factors
// exp(-2 pi i b ka / kPoints).
template <int kPoints, int A, int B, int b, class Source>
HWY_INLINE void columns(const Source& source, float* scratch) {
  Lanes x[A];
#pragma GCC unroll 8
  for (int a = 0; a < A; ++a) x[a] = source(static_cast<std::size_t>(B * a + b));
  dft_in_registers<A>(x);
  constexpr int kUnit = 32 / kPoints * b;
  static_assert(A == 4);
  const Store store{scratch + 2 * kLanes * static_cast<std::size_t>(b), 2 * kLanes * B};
  store(0, x[0]);
  store(1, twiddle32<kUnit>(x[1]));
  store(2, twiddle32<2 * kUnit>(x[2]));
  store(3, twiddle32<3 * kUnit>(x[3]));
  if constexpr (b + 1 < B) columns<kPoints, A, B, b + 1>(source, scratch);
}

/// X[k] = sum over n of x[n] exp(-2 pi i k n / kPoints): source(n) gives x[n], sink(k, value) takes
/// X[k]. All values are read before any is written. Scratch: kDftScratchFloats.
template <int kPoints, class Source, class Sink>
HWY_INLINE void dft(const Source& source, Sink& sink, float* scratch) {
  if constexpr (kPoints <= 8) {
    Lanes x[kPoints];
#pragma GCC unroll 8
    for (int n = 0; n < kPoints; ++n) x[n] = source(static_cast<std::size_t>(n));
    dft_in_registers<kPoints>(x);
#pragma GCC unroll 8
    for (int k = 0; k < kPoints; ++k) sink(static_cast<std::size_t>(k), x[k]);
  } else {
    constexpr int A = 4, B = kPoints / A;
    columns<kPoints, A, B, 0>(source, scratch);
    // Four times the code would not fit the first-level cache, and takes the compiler four times as long.
#pragma GCC unroll 1
    for (int ka = 0; ka < A; ++ka) {
      const Load row{scratch + 2 * kLanes * B * static_cast<std::size_t>(ka), 2 * kLanes};
      Lanes x[B];
#pragma GCC unroll 8
      for (int b = 0; b < B; ++b) x[b] = row(static_cast<std::size_t>(b));
      dft_in_registers<B>(x);
#pragma GCC unroll 8
      for (int kb = 0; kb < B; ++kb) sink(static_cast<std::size_t>(ka + A * kb), x[kb]);
    }
  }
}

inline constexpr std::size_t kDftScratchFloats = 32 * 2 * kLanes;

#endif  // TAUTLINE_SQUARE_TRANSPOSE

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
