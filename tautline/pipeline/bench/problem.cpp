#include "tautline/pipeline/bench/problem.h"

#include <fmt/format.h>

#include <charconv>

#include "tautline/core/error.h"
#include "tautline/core/nearest_name.h"

namespace tautline::pipeline {

using core::Error;
using core::ErrorKind;

std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string describe(const Problem& problem) {
  std::string text;
  for (const auto& [key, value] : problem)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

Problem complete(const std::string& stage, Problem defaults, const Problem& asked) {
  for (const auto& [key, value] : asked) {
    const auto known = defaults.find(key);
    if (known == defaults.end()) {
      std::vector<std::string> names;
      for (const auto& [name, unused] : defaults) names.push_back(name);
      throw Error(ErrorKind::config, "`problem` of " + stage, key,
                  fmt::format("one of {}", fmt::join(names, ", ")), core::did_you_mean(key, names));
    }
    known->second = value;
  }
  return defaults;
}

core::SampleFormat complex_format(const std::string& stage, std::size_t bits, std::size_t half) {
  if (half != 0 && bits == 16) return core::kCf16;
  if (bits == 4) return core::kCi4;
  if (bits == 8) return core::kCi8;
  if (bits == 16) return core::kCi16;
  if (bits == 32) return core::kCf32;
  throw Error(ErrorKind::config, "`problem` of " + stage + ": bits", std::to_string(bits),
              "4, 8, 16 or 32 (float)");
}

}  // namespace tautline::pipeline
