// The vector operations of the kernels for the target that is being compiled: Highway's, or, for
// the portable target, where Highway only emulates vectors, the compiler's vector types.
//
// Included once per target, from inside the files that hwy/foreach_target.h compiles repeatedly.

#if defined(TAUTLINE_CORRELATE_VECTOR_OPS) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CORRELATE_VECTOR_OPS
#undef TAUTLINE_CORRELATE_VECTOR_OPS
#else
#define TAUTLINE_CORRELATE_VECTOR_OPS
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::correlate::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR

// Every compiler target that we know has 16-byte vectors.
typedef std::int32_t IntVector __attribute__((vector_size(16)));
typedef float FloatVector __attribute__((vector_size(16)));
inline constexpr std::size_t kLanes = 4;

/// Running sums of 32-bit lanes.
using PairSums = IntVector;
inline PairSums no_sums() {
  return PairSums{};
}
/// sums[k] += a[2k] b[2k] + a[2k+1] b[2k+1] over the 16-bit halves.
inline void add_products(PairSums& sums, IntVector a, IntVector b) {
#if defined(__SSE2__)
  sums += (IntVector)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  sums += (a << 16 >> 16) * (b << 16 >> 16) + (a >> 16) * (b >> 16);
#endif
}
inline IntVector total(PairSums sums) {
  return sums;
}

inline IntVector load(const std::int32_t* p) {
  IntVector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline FloatVector load(const float* p) {
  FloatVector v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline IntVector broadcast(std::int32_t x) {
  return IntVector{x, x, x, x};
}
inline FloatVector broadcast(float x) {
  return FloatVector{x, x, x, x};
}
inline FloatVector zero_float() {
  return FloatVector{};
}
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector sum) {
  return sum + a * b;
}
inline FloatVector multiply_subtract(FloatVector a, FloatVector b, FloatVector sum) {
  return sum - a * b;
}
inline void add_to(std::int32_t* p, IntVector v) {
  v += load(p);
  std::memcpy(p, &v, sizeof v);
}
inline void subtract_from(std::int32_t* p, IntVector v) {
  v = load(p) - v;
  std::memcpy(p, &v, sizeof v);
}
inline void store(float* p, FloatVector v) {
  std::memcpy(p, &v, sizeof v);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// At most the 16 lanes of a panel.
using IntTag = hn::CappedTag<std::int32_t, 16>;
using HalfTag = hn::Repartition<std::int16_t, IntTag>;
using FloatTag = hn::CappedTag<float, 16>;
using IntVector = hn::Vec<IntTag>;
using FloatVector = hn::Vec<FloatTag>;
inline constexpr std::size_t kLanes = hn::MaxLanes(IntTag());

struct PairSums {
  IntVector low, high;  // high stays zero on x86, where low holds the sums of pairs
};
HWY_INLINE PairSums no_sums() {
  return {hn::Zero(IntTag()), hn::Zero(IntTag())};
}
HWY_INLINE void add_products(PairSums& sums, IntVector a, IntVector b) {
  sums.low = hn::ReorderWidenMulAccumulate(IntTag(), hn::BitCast(HalfTag(), a),
                                           hn::BitCast(HalfTag(), b), sums.low, sums.high);
}
HWY_INLINE IntVector total(PairSums sums) {
  return hn::RearrangeToOddPlusEven(sums.low, sums.high);
}

HWY_INLINE IntVector load(const std::int32_t* p) {
  return hn::LoadU(IntTag(), p);
}
HWY_INLINE FloatVector load(const float* p) {
  return hn::LoadU(FloatTag(), p);
}
HWY_INLINE IntVector broadcast(std::int32_t x) {
  return hn::Set(IntTag(), x);
}
HWY_INLINE FloatVector broadcast(float x) {
  return hn::Set(FloatTag(), x);
}
HWY_INLINE FloatVector zero_float() {
  return hn::Zero(FloatTag());
}
HWY_INLINE FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector sum) {
  return hn::MulAdd(a, b, sum);
}
HWY_INLINE FloatVector multiply_subtract(FloatVector a, FloatVector b, FloatVector sum) {
  return hn::NegMulAdd(a, b, sum);
}
HWY_INLINE void add_to(std::int32_t* p, IntVector v) {
  hn::StoreU(hn::Add(load(p), v), IntTag(), p);
}
HWY_INLINE void subtract_from(std::int32_t* p, IntVector v) {
  hn::StoreU(hn::Sub(load(p), v), IntTag(), p);
}
HWY_INLINE void store(float* p, FloatVector v) {
  hn::StoreU(v, FloatTag(), p);
}

#endif

// Four 32-bit words: every target has 16-byte vectors, and the compiler picks their shuffles.
typedef std::uint32_t Quad __attribute__((vector_size(16)));

inline Quad load_quad(const void* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return q;
}
inline void store_quad(void* p, Quad q) {
  std::memcpy(p, &q, sizeof q);
}

/// Stores column k of four rows of four words at out + k * stride_bytes.
inline void transpose_quads(Quad r0, Quad r1, Quad r2, Quad r3, std::byte* out,
                            std::size_t stride_bytes) {
  const Quad a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Quad b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Quad c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Quad d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  store_quad(out, __builtin_shufflevector(a, b, 0, 1, 4, 5));
  store_quad(out + stride_bytes, __builtin_shufflevector(a, b, 2, 3, 6, 7));
  store_quad(out + 2 * stride_bytes, __builtin_shufflevector(c, d, 0, 1, 4, 5));
  store_quad(out + 3 * stride_bytes, __builtin_shufflevector(c, d, 2, 3, 6, 7));
}

}  // namespace HWY_NAMESPACE
}  // namespace tautline::stages::correlate::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
