// Names and sizes of sample types: ci4 ci8 ci16 cf16 cf32 cu8 cu16, i1 i2 i4 i8 u8 i16 u16 f32 and kin.
#pragma once

#include <string>
#include <string_view>

namespace tautline::core {

enum class Encoding {
  twos_complement,  ///< i: signed; 1-bit samples are 0 -> +1, 1 -> -1
  offset_binary,    ///< u: unsigned code c stands for c - 2^(bits-1); 1, 2 bits: see decode
  ieee_float        ///< f: 16 or 32-bit float
};

/// One scalar type of antenna voltages. `bits` counts one component: ci8 has bits = 8 and takes
/// 16 bits a sample.
struct SampleFormat {
  int bits = 8;  ///< 1, 2, 4, 8, 16 or (float) 16, 32
  bool complex = true;
  Encoding encoding = Encoding::twos_complement;

  constexpr int bits_per_sample() const { return complex ? 2 * bits : bits; }
  constexpr bool is_float() const { return encoding == Encoding::ieee_float; }
  friend constexpr bool operator==(const SampleFormat&, const SampleFormat&) = default;
};

/// "ci8", "u16", "cf32"...
std::string to_string(const SampleFormat& format);

/// The inverse of to_string. Throws Error(config) that lists the names known.
SampleFormat parse_sample_format(std::string_view name);

inline constexpr SampleFormat kCi4{4, true, Encoding::twos_complement};
inline constexpr SampleFormat kCi8{8, true, Encoding::twos_complement};
inline constexpr SampleFormat kCi16{16, true, Encoding::twos_complement};
inline constexpr SampleFormat kCf16{16, true, Encoding::ieee_float};
inline constexpr SampleFormat kCf32{32, true, Encoding::ieee_float};
inline constexpr SampleFormat kI8{8, false, Encoding::twos_complement};
inline constexpr SampleFormat kI16{16, false, Encoding::twos_complement};
inline constexpr SampleFormat kF32{32, false, Encoding::ieee_float};

}  // namespace tautline::core
