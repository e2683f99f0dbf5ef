// The kernels, compiled for each instruction set by Highway, and plain loops where Highway has no
// vectors (the portable target on x86-64).
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/unpack/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tautline/core/sample_decode.h"
#include "tautline/device/cpu/transpose-inl.h"
#include "tautline/stages/unpack/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::unpack::HWY_NAMESPACE {

// Expands byte by byte through the table: all components of the portable target, and the rest that
// does not fill a vector. `first` is the first component of a byte.
void expand_plain(const std::byte* in, std::size_t first, std::size_t components, int bits,
                  const Decoding& decoding, std::byte* out) {
  const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
  std::size_t k = first;
  for (const std::byte* byte = in + first / per_byte; k < components; ++byte, k += per_byte) {
    const std::uint64_t& spread = decoding.components[std::to_integer<std::size_t>(*byte)];
    switch (std::min(per_byte, components - k)) {
      case 8:
        std::memcpy(out + k, &spread, 8);
        break;
      case 4:
        std::memcpy(out + k, &spread, 4);
        break;
      case 2:
        std::memcpy(out + k, &spread, 2);
        break;
      default:
        std::memcpy(out + k, &spread, std::min(per_byte, components - k));
        break;
    }
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define UNPACK_VECTORS 0
#else
#define UNPACK_VECTORS 1
namespace hn = hwy::HWY_NAMESPACE;
using namespace device::HWY_NAMESPACE;

// Spread the components of a byte over as many bytes, each in the low bits of its byte.
template <class D>
HWY_INLINE hn::Vec<D> spread_4(D d, hn::Vec<D> x) {
  return hn::And(hn::Or(x, hn::ShiftLeft<4>(x)), hn::Set(d, 0x0F0F));
}
template <class D>
HWY_INLINE hn::Vec<D> spread_2(D d, hn::Vec<D> x) {
  const auto pairs = hn::And(hn::Or(x, hn::ShiftLeft<12>(x)), hn::Set(d, 0x000F000F));
  return hn::And(hn::Or(pairs, hn::ShiftLeft<6>(pairs)), hn::Set(d, 0x03030303));
}
template <class D>
HWY_INLINE hn::Vec<D> spread_1(D d, hn::Vec<D> x) {
  const auto nibbles = hn::And(hn::Or(x, hn::ShiftLeft<28>(x)), hn::Set(d, 0x0000000F0000000F));
  const auto pairs =
      hn::And(hn::Or(nibbles, hn::ShiftLeft<14>(nibbles)), hn::Set(d, 0x0003000300030003));
  return hn::And(hn::Or(pairs, hn::ShiftLeft<7>(pairs)), hn::Set(d, 0x0101010101010101));
}

// Expands from component `done` in vectors of kBytes, then of half as many bytes; returns the
// number of components done. T has a byte for each component of an input byte.
template <class T, std::size_t kBytes>
std::size_t expand_vectors(const std::byte* in, std::size_t done, std::size_t components,
                           const Decoding& decoding, std::byte* out) {
  using D = hn::CappedTag<T, kBytes / sizeof(T)>;
  constexpr std::size_t kPerByte = sizeof(T);
  const D d;
  const hn::CappedTag<std::uint8_t, kBytes> bytes;
  const hn::Rebind<std::uint8_t, D> narrow;
  const auto flip = hn::Set(bytes, decoding.flip);
  const auto bias = hn::Set(bytes, static_cast<std::uint8_t>(decoding.bias));
  for (; done + kBytes <= components; done += kBytes) {
    const auto packed =
        hn::LoadU(narrow, reinterpret_cast<const std::uint8_t*>(in) + done / kPerByte);
    decltype(hn::Zero(d)) codes;
    if constexpr (kPerByte == 2) {
      codes = spread_4(d, hn::PromoteTo(d, packed));
    } else if constexpr (kPerByte == 4) {
      codes = spread_2(d, hn::PromoteTo(d, packed));
    } else {
      codes = spread_1(d, hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<std::uint32_t, D>(), packed)));
    }
    auto values = hn::Xor(hn::BitCast(bytes, codes), flip);
    if (decoding.shift != 0) values = hn::Add(values, values);
    hn::StoreU(hn::Add(values, bias), bytes, reinterpret_cast<std::uint8_t*>(out) + done);
  }
  if constexpr (kBytes > kBlockBytes)
    return expand_vectors<T, kBytes / 2>(in, done, components, decoding, out);
  return done;
}
#endif

template <class T>
void transpose(const std::byte* in, std::size_t stride_bytes, std::size_t rows, std::uint64_t flip,
               std::byte* const* out) {
#if UNPACK_VECTORS
  constexpr std::size_t kRows = kBlockBytes / sizeof(T);
  const Tag<T> d;
  const auto inverted = hn::Set(d, static_cast<T>(flip));
  const auto column = [&](std::size_t first, auto stored) {
    transpose_column<T>(in + first * sizeof(T), static_cast<std::ptrdiff_t>(stride_bytes),
                        [&](std::size_t row, std::size_t t, auto v) {
                          if (row < stored)
                            hn::StoreU(hn::Xor(v, inverted), d,
                                       reinterpret_cast<T*>(out[first + row] + t * sizeof(T)));
                        });
  };
  if (rows < kRows) return column(0, rows);
  // The last column overlaps the previous one, so that no byte beyond the rows is read.
  for (std::size_t r = 0; r < rows; r += kRows)
    column(std::min(r, rows - kRows), std::integral_constant<std::size_t, kRows>());
#else
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t t = 0; t < kTileTimes; ++t) {
      T element;
      std::memcpy(&element, in + t * stride_bytes + r * sizeof(T), sizeof(T));
      element = static_cast<T>(element ^ static_cast<T>(flip));
      std::memcpy(out[r] + t * sizeof(T), &element, sizeof(T));
    }
#endif
}

void expand(const std::byte* in, std::size_t components, int bits, const Decoding& decoding,
            std::byte* out) {
  std::size_t done = 0;
#if UNPACK_VECTORS
  const auto expand_by = bits == 1   ? expand_vectors<std::uint64_t, kVectorBytes>
                         : bits == 2 ? expand_vectors<std::uint32_t, kVectorBytes>
                                     : expand_vectors<std::uint16_t, kVectorBytes>;
  done = expand_by(in, 0, components, decoding, out);
#endif
  expand_plain(in, done, components, bits, decoding, out);
}

void copy_flipped(const std::byte* in, std::size_t bytes, std::uint64_t flip, std::byte* out) {
  if (flip == 0) {
    std::memcpy(out, in, bytes);
    return;
  }
  std::size_t k = 0;
#if UNPACK_VECTORS
  const Tag<std::uint64_t> d;
  const auto inverted = hn::Set(d, flip);
  const std::size_t step = hn::Lanes(d) * sizeof(std::uint64_t);
  for (; k + step <= bytes; k += step)
    hn::StoreU(hn::Xor(hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(in + k)), inverted), d,
               reinterpret_cast<std::uint64_t*>(out + k));
#endif
  for (; k + sizeof flip <= bytes; k += sizeof flip) {
    std::uint64_t word;
    std::memcpy(&word, in + k, sizeof word);
    word ^= flip;
    std::memcpy(out + k, &word, sizeof word);
  }
  for (; k < bytes; ++k) out[k] = in[k] ^ static_cast<std::byte>(flip >> (k % 8 * 8) & 0xff);
}

bool all_finite(const float* values, std::size_t count) {
  bool finite = true;
  std::size_t k = 0;
#if UNPACK_VECTORS
  const Tag<std::uint32_t> d;
  const auto magnitude = hn::Set(d, 0x7fffffffu);
  auto largest = hn::Zero(d);
  for (; k + hn::Lanes(d) <= count; k += hn::Lanes(d))
    largest = hn::Max(
        largest,
        hn::And(hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(values + k)), magnitude));
  finite = hn::AllTrue(d, hn::Lt(largest, hn::Set(d, 0x7f800000u)));
#endif
  for (; k < count; ++k) {
    std::uint32_t bits;
    std::memcpy(&bits, values + k, sizeof bits);
    finite &= (bits & 0x7fffffffu) < 0x7f800000u;
  }
  return finite;
}
#undef UNPACK_VECTORS

constexpr Kernels make_kernels(device::InstructionSet set) {
  return {{transpose<std::uint8_t>, transpose<std::uint16_t>, transpose<std::uint32_t>,
           transpose<std::uint64_t>},
          expand,
          copy_flipped,
          all_finite,
          set};
}

}  // namespace tautline::stages::unpack::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::stages::unpack {

Decoding decoding_of(const core::SampleFormat& format) {
  const bool offset = format.encoding == core::Encoding::offset_binary;
  Decoding decoding;
  if (format.bits == 1)
    decoding = {offset ? std::uint8_t{0} : std::uint8_t{1}, 1, -1, {}};
  else if (format.bits == 2)
    decoding = offset ? Decoding{0, 1, -3, {}} : Decoding{2, 0, -2, {}};
  else
    decoding = {offset ? std::uint8_t{0} : std::uint8_t{8}, 0, -8, {}};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<std::int8_t, 8> components{};
    for (int k = 0; k < 8 / format.bits; ++k)
      components[static_cast<std::size_t>(k)] = static_cast<std::int8_t>(
          core::decode_code(byte >> (k * format.bits), format.bits, format.encoding));
    std::memcpy(&decoding.components[byte], components.data(), sizeof components);
  }
  return decoding;
}

std::uint64_t flip_of(const core::SampleFormat& format) {
  if (format.encoding != core::Encoding::offset_binary) return 0;
  return format.bits == 16 ? 0x8000800080008000u : format.bits == 8 ? 0x8080808080808080u : 0;
}

const Kernels& kernels_for(device::InstructionSet set) {
  return TAUTLINE_BEST_TARGET(make_kernels, set);
}

}  // namespace tautline::stages::unpack

#endif  // HWY_ONCE
