// Words of options and results: limits that read well, and how many of a thing.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace tautline::cli {

/// "1 curve", "2 curves".
template <class Number>
std::string counted(Number number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

/// A number above 0. (CLI11's own check prints the largest double, all 309 digits of it.)
inline CLI::Validator above_zero() {
  return {[](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value > 0) return {};
            return text + " is no number above 0";
          },
          "above 0"};
}

/// 0 or more.
inline CLI::Validator zero_or_more() {
  return {[](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= 0) return {};
            return text + " is no number of 0 or more";
          },
          "0 or more"};
}

}  // namespace tautline::cli
