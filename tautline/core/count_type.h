// Types of counts: of photons, in [time][sensor].
#pragma once

#include <cstddef>
#include <string>

namespace tautline::core {

enum class CountType { u8, u16, u32, f32 };

constexpr std::size_t bytes_of(CountType type) {
  switch (type) {
    case CountType::u8:
      return 1;
    case CountType::u16:
      return 2;
    default:
      return 4;
  }
}

inline std::string to_string(CountType type) {
  switch (type) {
    case CountType::u8:
      return "u8";
    case CountType::u16:
      return "u16";
    case CountType::u32:
      return "u32";
    case CountType::f32:
      break;
  }
  return "f32";
}

}  // namespace tautline::core
