// Copies, conversions and masks of rows, and the flush of integer sums, compiled for each Highway
// target: plain loops that the compiler vectorises.
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/correlate/cpu/rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tautline/stages/correlate/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::correlate::cpu {
namespace HWY_NAMESPACE {
namespace {

inline constexpr std::size_t kWordBits = 64;

HWY_ATTR inline void convert(const core::ci8& from, core::ci8& to) {
  to = from;
}
HWY_ATTR inline void convert(const std::complex<float>& from, std::complex<float>& to) {
  to = from;
}
HWY_ATTR inline void convert(const core::ci4& from, core::ci8& to) {
  // A shift up to the top of a byte and an arithmetic shift back extend the sign.
  to.re = static_cast<std::int8_t>(static_cast<std::int8_t>(from.packed << 4) >> 4);
  to.im = static_cast<std::int8_t>(static_cast<std::int8_t>(from.packed) >> 4);
}
HWY_ATTR inline void convert(const core::ci16& from, std::complex<float>& to) {
  float parts[2] = {static_cast<float>(from.re), static_cast<float>(from.im)};
  std::memcpy(&to, parts, sizeof parts);
}

HWY_ATTR inline void convert(const core::cf16& from, std::complex<float>& to) {
  const float parts[2] = {core::to_float(from.re), core::to_float(from.im)};
  std::memcpy(&to, parts, sizeof parts);
}

// Zeroes invalid samples. Words of equal bits, the common case, cost a test or a fill.
template <class To>
HWY_ATTR void apply_mask(const std::uint64_t* mask, std::size_t samples, To* dst) {
  for (std::size_t first = 0; first < samples; first += kWordBits) {
    const std::uint64_t word = mask[first / kWordBits];
    const std::size_t count = std::min(kWordBits, samples - first);
    if (word == ~std::uint64_t{0}) continue;
    if (word == 0) {
      std::fill_n(dst + first, count, To{});
      continue;
    }
    for (std::size_t t = 0; t < count; ++t)
      if ((word >> t & 1) == 0) dst[first + t] = To{};
  }
}

template <class From, class To>
HWY_ATTR void copy_row(const From* src, std::ptrdiff_t stride, const std::uint64_t* mask,
                       std::size_t samples, std::size_t padded, To* dst) {
  if (stride == 1) {
    for (std::size_t t = 0; t < samples; ++t) convert(src[t], dst[t]);
  } else {
    for (std::size_t t = 0; t < samples; ++t)
      convert(src[static_cast<std::ptrdiff_t>(t) * stride], dst[t]);
  }
  if (mask != nullptr) apply_mask(mask, samples, dst);
  std::fill(dst + samples, dst + padded, To{});
}

HWY_ATTR std::uint64_t count_both(const std::uint64_t* a, const std::uint64_t* b,
                                  std::size_t words) {
  std::uint64_t total = 0;
  for (std::size_t w = 0; w < words; ++w)
    total += static_cast<std::uint64_t>(std::popcount(a[w] & b[w]));
  return total;
}

HWY_ATTR void flush_integer(const std::int32_t* re, const std::int32_t* im,
                            std::int32_t correction_re, std::int32_t correction_im,
                            std::size_t columns, core::ci64* visibilities) {
  // Interleaving 32-bit numbers takes one shuffle, so they are widened afterwards. Unsigned
  // subtraction wraps as the sums did; the true difference fits 32 bits.
  alignas(64) std::uint32_t parts[2 * kPanel];
  for (std::size_t j = 0; j < kPanel; ++j) {
    parts[2 * j] = static_cast<std::uint32_t>(re[j]) - static_cast<std::uint32_t>(correction_re);
    parts[2 * j + 1] =
        static_cast<std::uint32_t>(im[j]) - static_cast<std::uint32_t>(correction_im);
  }
  auto* out = reinterpret_cast<std::int64_t*>(visibilities);
  if (columns == kPanel) {
    for (std::size_t k = 0; k < 2 * kPanel; ++k) out[k] += static_cast<std::int32_t>(parts[k]);
  } else {
    for (std::size_t k = 0; k < 2 * columns; ++k) out[k] += static_cast<std::int32_t>(parts[k]);
  }
}

constexpr RowLoops row_loops(device::InstructionSet) {
  return {.copies = {copy_row<core::ci8, core::ci8>, copy_row<core::ci4, core::ci8>,
                     copy_row<core::ci16, std::complex<float>>,
                     copy_row<core::cf16, std::complex<float>>,
                     copy_row<std::complex<float>, std::complex<float>>},
          .count_both = count_both,
          .flush_integer = flush_integer};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tautline::stages::correlate::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::stages::correlate::cpu {

const RowLoops& choose_row_loops(const device::Device& device) {
  return TAUTLINE_BEST_TARGET(row_loops, device.instruction_set());
}

}  // namespace tautline::stages::correlate::cpu

#endif  // HWY_ONCE
