#include "tautline/core/sample_type.h"

#include <array>
#include <string>

#include "tautline/core/error.h"

namespace tautline::core {
namespace {

struct Described {
  std::string_view name;
  std::size_t bytes;
};

// In the order of the enumeration.
constexpr std::array<Described, 18> kTypes{{{"i8", 1},
                                            {"i16", 2},
                                            {"i32", 4},
                                            {"i64", 8},
                                            {"u8", 1},
                                            {"u16", 2},
                                            {"u32", 4},
                                            {"u64", 8},
                                            {"f16", 2},
                                            {"f32", 4},
                                            {"f64", 8},
                                            {"ci4", 1},
                                            {"ci8", 2},
                                            {"ci16", 4},
                                            {"ci64", 16},
                                            {"cf16", 4},
                                            {"cf32", 8},
                                            {"cf64", 16}}};

}  // namespace

std::string_view to_string(SampleType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::size_t bytes_of(SampleType type) {
  return kTypes[static_cast<std::size_t>(type)].bytes;
}

SampleType sample_type(const SampleFormat& format) {
  const std::string name = to_string(format);
  if (format.encoding != Encoding::offset_binary)
    for (std::size_t type = 0; type < kTypes.size(); ++type)
      if (kTypes[type].name == name) return static_cast<SampleType>(type);
  throw Error(ErrorKind::config, "sample format", name, "ci4 ci8 ci16 cf16 cf32 i8 i16 f16 or f32",
              "unpack the samples first");
}

std::optional<SampleFormat> voltage_format(SampleType type) {
  for (const SampleFormat& format : {kCi8, kCi16, kCf32, kI8, kI16, kF32})
    if (sample_type(format) == type) return format;
  return {};
}

}  // namespace tautline::core
