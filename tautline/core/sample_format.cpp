#include "tautline/core/sample_format.h"

#include "tautline/core/error.h"

namespace tautline::core {

std::string to_string(const SampleFormat& format) {
  std::string name = format.complex ? "c" : "";
  switch (format.encoding) {
    case Encoding::twos_complement: name += 'i'; break;
    case Encoding::offset_binary: name += 'u'; break;
    case Encoding::ieee_float: name += 'f'; break;
  }
  return name + std::to_string(format.bits);
}

SampleFormat parse_sample_format(std::string_view name) {
  for (const bool complex : {false, true}) {
    for (const Encoding encoding :
         {Encoding::twos_complement, Encoding::offset_binary, Encoding::ieee_float}) {
      for (const int bits : {1, 2, 4, 8, 16, 32}) {
        const SampleFormat format{bits, complex, encoding};
        if (format.is_float() ? bits < 16 : bits == 32) continue;
        if (to_string(format) == name) return format;
      }
    }
  }
  throw Error(ErrorKind::config, "sample format", std::string(name),
              "one of i1 i2 i4 i8 i16 u1 u2 u4 u8 u16 f16 f32, or c and one of them (ci8, cf32)");
}

}  // namespace tautline::core
