// Numbers in messages: few significant digits, without an exponent.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace tautline::core {

/// `value` rounded to `digits` significant digits: of 2 digits 0.012, 1.3, 22, 130, 1200. Where "{:.2g}" writes 1.3e+02.
inline std::string few_digits(double value, int digits = 2) {
  const double magnitude = std::abs(value);
  if (!std::isfinite(value) || magnitude < 1e-4) return fmt::format("{:.{}g}", value, digits);
  const int place = digits - 1 - static_cast<int>(std::floor(std::log10(magnitude)));
  if (place >= 0) return fmt::format("{}", std::stod(fmt::format("{:.{}f}", value, place)));
  const double unit = std::pow(10.0, -place);
  return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

}  // namespace tautline::core
