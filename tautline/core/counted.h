// Counts in messages, with the noun in its singular or plural: "1 curve", "2 curves".
#pragma once

#include <string>

namespace tautline::core {

/// "1 curve", "2 curves"; "2 spectra" where the plural is given.
template <class Number>
std::string counted(Number number, const std::string& one, const std::string& several = {}) {
  return std::to_string(number) + " " + (number == 1 ? one : several.empty() ? one + "s" : several);
}

}  // namespace tautline::core
