// The kernels, compiled for each instruction set by Highway, and plain loops where Highway has no
// vectors (the portable target on x86-64).
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/corner_turn/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include "tautline/core/requantise.h"
#include "tautline/device/cpu/transpose-inl.h"
#include "tautline/stages/corner_turn/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::corner_turn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define CORNER_TURN_VECTORS 0
#else
#define CORNER_TURN_VECTORS 1
using namespace device::HWY_NAMESPACE;
#endif

std::uint64_t quantise(const std::complex<float>* in, const float* gains, std::size_t count,
                       int limit, core::ci8* out) {
  const auto* values = reinterpret_cast<const float*>(in);
  auto* written = reinterpret_cast<std::int8_t*>(out);
  std::uint64_t clipped = 0;
  std::size_t k = 0;
#if CORNER_TURN_VECTORS
  const Tag<float> d;
  const hn::RebindToSigned<Tag<float>> integers;
  const hn::Rebind<std::int8_t, Tag<float>> bytes;
  const auto high = hn::Set(d, static_cast<float>(limit));
  const auto low = hn::Set(d, static_cast<float>(-limit));
  const std::size_t step = hn::Lanes(d);
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
#endif
  for (; k < 2 * count; ++k)
    written[k] = static_cast<std::int8_t>(core::requantise(values[k], gains[k], limit, clipped));
  return clipped;
}

template <class From, class To>
void transpose(const From* in, std::ptrdiff_t in_stride, std::size_t channels, To* out,
               std::ptrdiff_t out_stride) {
#if CORNER_TURN_VECTORS
  using Word = std::conditional_t<sizeof(From) == 2, std::uint16_t, std::uint64_t>;
  const Tag<Word> d;
  constexpr std::size_t kRows = kBlockBytes / sizeof(From);
  for (std::size_t first = 0; first < channels; first += kRows)
    transpose_column<Word>(reinterpret_cast<const std::byte*>(in + first),
                           in_stride * static_cast<std::ptrdiff_t>(sizeof(From)),
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
#else
  for (std::size_t c = 0; c < channels; ++c, ++in, out += out_stride)
    for (std::size_t s = 0; s < kTileSpectra; ++s) {
      const From& value = in[static_cast<std::ptrdiff_t>(s) * in_stride];
      if constexpr (std::is_same_v<From, To>)
        out[s] = value;
      else
        out[s] = To::pack(value.re, value.im);
    }
#endif
}
#undef CORNER_TURN_VECTORS

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
