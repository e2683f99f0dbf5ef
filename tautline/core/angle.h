// Angles as people write them: degrees, or sexagesimal.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "tautline/core/field_text.h"

namespace tautline::core {

/// The unit of the whole part of a sexagesimal angle.
enum class AngleUnit { hours, degrees };

/// Degrees of "187.7059", or of "12:30:49.42": hours (of 15 degrees) or degrees, minutes and seconds. A sign
/// goes for all parts. Throws Error(config) without a field.
inline double read_angle_deg(const std::string& text, AngleUnit unit) {
  const bool hours = unit == AngleUnit::hours;
  const std::string words =
      hours ? "degrees, or hh:mm:ss[.fraction] of hours" : "degrees, or dd:mm:ss[.fraction]";
  if (text.find(':') == std::string::npos) {
    try {
      return text::read_number(text);
    } catch (const Error&) {
      text::refuse(text, words);
    }
  }
  const bool negative = text.starts_with('-');
  const auto parts = text::split(negative || text.starts_with('+') ? text.substr(1) : text, ':');
  if (parts.size() != 3) text::refuse(text, words);
  std::array<double, 3> values{};
  for (std::size_t k = 0; k < 3; ++k) try {
      values[k] = text::read_number(parts[k]);
      const bool whole = k == 2 || values[k] == std::floor(values[k]);
      const double most = k > 0 ? 60 : hours ? 24 : 361;
      if (!whole || parts[k].find_first_of("+-eE") != std::string::npos || !(values[k] < most))
        text::refuse(text, words);
    } catch (const Error&) {
      text::refuse(text, words);
    }
  const double size = values[0] + values[1] / 60 + values[2] / 3600;
  return (negative ? -size : size) * (hours ? 15 : 1);
}

}  // namespace tautline::core
