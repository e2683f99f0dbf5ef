// Transposition in registers, for rows of 64 elements, where Highway has vectors. Include after Highway, once per
// instruction set.
#if defined(TAUTLINE_DEVICE_CPU_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_DEVICE_CPU_TRANSPOSE_INL_H
#undef TAUTLINE_DEVICE_CPU_TRANSPOSE_INL_H
#else
#define TAUTLINE_DEVICE_CPU_TRANSPOSE_INL_H
#endif

#include <cstddef>

#if HWY_TARGET != HWY_SCALAR
HWY_BEFORE_NAMESPACE();
namespace tautline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlockBytes = 16;  // InterleaveLower and InterleaveUpper work within blocks
#if HWY_HAVE_SCALABLE
constexpr std::size_t kVectorBytes = kBlockBytes;
#else
constexpr std::size_t kVectorBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
#endif

template <class T>
using Tag = hn::CappedTag<T, kVectorBytes / sizeof(T)>;

// Loads the blocks at in, in + distance, in + 2 distance... into one vector.
template <std::size_t kBytes, class T>
HWY_INLINE auto load_blocks(const std::byte* in, std::ptrdiff_t distance) {
  const hn::CappedTag<T, kBytes / sizeof(T)> d;
  if constexpr (kBytes == kBlockBytes) {
    (void)distance;
    return hn::LoadU(d, reinterpret_cast<const T*>(in));
  } else {
    constexpr std::ptrdiff_t kHalfBlocks = kBytes / kBlockBytes / 2;
    return hn::Combine(d, load_blocks<kBytes / 2, T>(in + kHalfBlocks * distance, distance),
                       load_blocks<kBytes / 2, T>(in, distance));
  }
}

// One pass of a perfect shuffle; log2(N) passes transpose N x N elements within every block.
template <std::size_t kCount, class D, class V>
HWY_INLINE void shuffle(D d, V (&v)[kCount]) {
  V next[kCount];
  for (std::size_t k = 0; k < kCount / 2; ++k) {
    next[2 * k] = hn::InterleaveLower(d, v[k], v[k + kCount / 2]);
    next[2 * k + 1] = hn::InterleaveUpper(d, v[k], v[k + kCount / 2]);
  }
  for (std::size_t k = 0; k < kCount; ++k) v[k] = next[k];
}

// Transposes 16 bytes of elements T at each of 64 times, `stride_bytes` apart: calls
// store(r, t, vector) with the times of element r from t on.
template <class T, class Store>
HWY_INLINE void transpose_column(const std::byte* in, std::ptrdiff_t stride_bytes,
                                 const Store& store) {
  constexpr std::size_t kRows = kBlockBytes / sizeof(T);
  constexpr std::size_t kTimes = kRows * (kVectorBytes / kBlockBytes);  // of one vector
  const Tag<T> d;
  for (std::size_t t = 0; t < 64; t += kTimes) {
    decltype(hn::Zero(d)) v[kRows];
    for (std::size_t k = 0; k < kRows; ++k)
      v[k] = load_blocks<kVectorBytes, T>(in + static_cast<std::ptrdiff_t>(t + k) * stride_bytes,
                                          static_cast<std::ptrdiff_t>(kRows) * stride_bytes);
    for (std::size_t pass = 1; pass < kRows; pass *= 2) shuffle<kRows>(d, v);
    for (std::size_t r = 0; r < kRows; ++r) store(r, t, v[r]);
  }
}

}  // namespace tautline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
