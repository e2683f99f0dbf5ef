// The types of array elements in memory, named at run time: of unpacked samples, counts, sums and
// visibilities. (core/sample_format.h names the coding of samples in files and packets.)
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tautline/core/complex_int.h"
#include "tautline/core/half.h"
#include "tautline/core/sample_format.h"

namespace tautline::core {

/// i: signed integers, u: unsigned integers, f: floats; with c, complex numbers of two of them, re first. The number
/// counts the bits of one component.
// GCC 12 takes the names of a scoped enumeration for names of the namespace.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class SampleType : std::uint8_t {
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  f32,
  f64,
  ci4,
  ci8,
  ci16,
  ci64,
  cf16,
  cf32,
  cf64
};
#pragma GCC diagnostic pop

/// "ci8", "f32"...
std::string_view to_string(SampleType type);
std::size_t bytes_of(SampleType type);

/// The type of a format whose samples are whole elements in memory: ci4 ci8 ci16 cf16 cf32, i8 i16
/// f16 f32. Throws Error(config) for other formats, which `unpack` converts to one of these.
SampleType sample_type(const SampleFormat& format);

/// The format of voltages in an array of this type: ci8 ci16 cf32, i8 i16 f32. None for other types.
std::optional<SampleFormat> voltage_format(SampleType type);

/// The SampleType of T; other types do not compile.
template <class T>
inline constexpr SampleType sample_type_of = T::has_no_sample_type;
template <>
inline constexpr SampleType sample_type_of<std::int8_t> = SampleType::i8;
template <>
inline constexpr SampleType sample_type_of<std::int16_t> = SampleType::i16;
template <>
inline constexpr SampleType sample_type_of<std::int32_t> = SampleType::i32;
template <>
inline constexpr SampleType sample_type_of<std::int64_t> = SampleType::i64;
template <>
inline constexpr SampleType sample_type_of<std::uint8_t> = SampleType::u8;
template <>
inline constexpr SampleType sample_type_of<std::uint16_t> = SampleType::u16;
template <>
inline constexpr SampleType sample_type_of<std::uint32_t> = SampleType::u32;
template <>
inline constexpr SampleType sample_type_of<std::uint64_t> = SampleType::u64;
template <>
inline constexpr SampleType sample_type_of<Half> = SampleType::f16;
template <>
inline constexpr SampleType sample_type_of<float> = SampleType::f32;
template <>
inline constexpr SampleType sample_type_of<double> = SampleType::f64;
template <>
inline constexpr SampleType sample_type_of<ci4> = SampleType::ci4;
template <>
inline constexpr SampleType sample_type_of<ci8> = SampleType::ci8;
template <>
inline constexpr SampleType sample_type_of<ci16> = SampleType::ci16;
template <>
inline constexpr SampleType sample_type_of<ci64> = SampleType::ci64;
template <>
inline constexpr SampleType sample_type_of<cf16> = SampleType::cf16;
template <>
inline constexpr SampleType sample_type_of<std::complex<float>> = SampleType::cf32;
template <>
inline constexpr SampleType sample_type_of<std::complex<double>> = SampleType::cf64;

}  // namespace tautline::core
