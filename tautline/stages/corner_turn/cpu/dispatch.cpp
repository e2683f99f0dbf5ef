// The kernels, compiled for each instruction set by Highway, and plain loops where Highway has no
// vectors (the portable target on x86-64).
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/corner_turn/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include "tautline/core/requantise.h"
#include "tautline/stages/corner_turn/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::corner_turn::HWY_NAMESPACE {

std::uint64_t quantise_plain(const std::complex<float>* in, const float* gains, std::size_t count,
                             int limit, core::ci8* out) {
  std::uint64_t clipped = 0;
  for (std::size_t k = 0; k < count; ++k)
    out[k] = {
        static_cast<std::int8_t>(core::requantise(in[k].real(), gains[2 * k], limit, clipped)),
        static_cast<std::int8_t>(core::requantise(in[k].imag(), gains[2 * k], limit, clipped))};
  return clipped;
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::uint64_t quantise(const std::complex<float>* in, const float* gains, std::size_t count,
                       int limit, core::ci8* out) {
  return quantise_plain(in, gains, count, limit, out);
}

template <class From, class To>
void transpose(const From* in, std::ptrdiff_t in_stride, std::size_t channels, To* out,
               std::ptrdiff_t out_stride) {
  for (std::size_t c = 0; c < channels; ++c, ++in, out += out_stride)
    for (std::size_t s = 0; s < kTileSpectra; ++s) {
      const From& value = in[static_cast<std::ptrdiff_t>(s) * in_stride];
      if constexpr (std::is_same_v<From, To>)
        out[s] = value;
      else
        out[s] = To::pack(value.re, value.im);
    }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlockBytes = 16;  // InterleaveLower and InterleaveUpper work within blocks
#if HWY_HAVE_SCALABLE
constexpr std::size_t kVectorBytes = kBlockBytes;
#else
constexpr std::size_t kVectorBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
#endif
constexpr std::size_t kBlocks = kVectorBytes / kBlockBytes;

template <class T>
using Tag = hn::CappedTag<T, kVectorBytes / sizeof(T)>;

std::uint64_t quantise(const std::complex<float>* in, const float* gains, std::size_t count,
                       int limit, core::ci8* out) {
  const Tag<float> d;
  const hn::RebindToSigned<Tag<float>> integers;
  const hn::Rebind<std::int8_t, Tag<float>> bytes;
  const auto high = hn::Set(d, static_cast<float>(limit));
  const auto low = hn::Set(d, static_cast<float>(-limit));
  const auto* values = reinterpret_cast<const float*>(in);
  auto* written = reinterpret_cast<std::int8_t*>(out);
  const std::size_t step = hn::Lanes(d);
  std::uint64_t clipped = 0;
  std::size_t k = 0;
  for (; k + step <= 2 * count; k += step) {
    const auto scaled = hn::Mul(hn::LoadU(d, values + k), hn::LoadU(d, gains + k));
    const auto rounded = hn::Round(scaled);  // half to even
    // Comparisons with NaN are false: NaN is counted, and becomes zero below.
    const auto inside = hn::And(hn::Ge(rounded, low), hn::Le(rounded, high));
    clipped += step - hn::CountTrue(d, inside);
    const auto limited =
        hn::IfThenElseZero(hn::Eq(rounded, rounded), hn::Min(hn::Max(rounded, low), high));
    hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(integers, limited)), bytes, written + k);
  }
  return clipped + quantise_plain(in + k / 2, gains + k, count - k / 2, limit, out + k / 2);
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

// Loads the blocks at in, in + distance, in + 2 distance... into one vector.
template <std::size_t kBytes, class T>
HWY_INLINE auto load_blocks(const T* in, std::ptrdiff_t distance) {
  const hn::CappedTag<T, kBytes / sizeof(T)> d;
  if constexpr (kBytes == kBlockBytes) {
    (void)distance;
    return hn::LoadU(d, in);
  } else {
    constexpr std::ptrdiff_t kHalf = kBytes / kBlockBytes / 2;
    return hn::Combine(d, load_blocks<kBytes / 2>(in + kHalf * distance, distance),
                       load_blocks<kBytes / 2>(in, distance));
  }
}

// Transposes 16 bytes of channels (kRows) of kTileSpectra spectra: calls store(c, s, vector) with
// the times of row c from s.
template <class T, class Store>
HWY_INLINE void transpose_column(const T* in, std::ptrdiff_t in_stride, Store store) {
  constexpr std::size_t kRows = kBlockBytes / sizeof(T);
  constexpr auto kSigned = static_cast<std::ptrdiff_t>(kRows);
  const Tag<T> d;
  for (std::size_t s = 0; s < kTileSpectra; s += kRows * kBlocks) {
    decltype(hn::Zero(d)) v[kRows];
    for (std::size_t k = 0; k < kRows; ++k)
      v[k] = load_blocks<kVectorBytes>(in + static_cast<std::ptrdiff_t>(s + k) * in_stride,
                                       kSigned * in_stride);
    for (std::size_t pass = 1; pass < kRows; pass *= 2) shuffle<kRows>(d, v);
    for (std::size_t c = 0; c < kRows; ++c) store(c, s, v[c]);
  }
}

template <class From, class To>
void transpose(const From* in, std::ptrdiff_t in_stride, std::size_t channels, To* out,
               std::ptrdiff_t out_stride) {
  using Word = std::conditional_t<sizeof(From) == 2, std::uint16_t, std::uint64_t>;
  const Tag<Word> d;
  constexpr std::size_t kRows = kBlockBytes / sizeof(From);
  for (std::size_t first = 0; first < channels; first += kRows)
    transpose_column(reinterpret_cast<const Word*>(in + first), in_stride,
                     [&](std::size_t c, std::size_t s, auto v) {
                       To* to = out + static_cast<std::ptrdiff_t>(first + c) * out_stride + s;
                       if constexpr (std::is_same_v<From, To>) {
                         hn::StoreU(v, d, reinterpret_cast<Word*>(to));
                       } else {  // the low halves of re and im
                         const hn::RebindToSigned<Tag<Word>> integers;
                         const hn::Rebind<std::uint8_t, Tag<Word>> bytes;
                         const auto packed =
                             hn::Or(hn::And(v, hn::Set(d, Word{0x000F})),
                                    hn::And(hn::ShiftRight<4>(v), hn::Set(d, Word{0x00F0})));
                         hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(integers, packed)), bytes,
                                    reinterpret_cast<std::uint8_t*>(to));
                       }
                     });
}

#endif

constexpr Kernels make_kernels(device::InstructionSet set) {
  return {quantise, transpose<core::ci8, core::ci8>, transpose<core::ci8, core::ci4>,
          transpose<std::complex<float>, std::complex<float>>, set};
}

}  // namespace tautline::stages::corner_turn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::stages::corner_turn {

const Kernels& kernels_for(device::InstructionSet set) {
  return TAUTLINE_BEST_TARGET(make_kernels, set);
}

}  // namespace tautline::stages::corner_turn

#endif  // HWY_ONCE
