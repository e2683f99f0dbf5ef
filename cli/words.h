// Words of results: how many of a thing.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tautline::cli {

/// "1 curve", "2 curves".
template <class Number>
std::string counted(Number number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

}  // namespace tautline::cli
