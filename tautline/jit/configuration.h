// Named whole numbers: the tunables of a candidate, the sizes of a problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tautline::jit {

/// The value of every tunable, by name. Flags are 0 or 1, choices their number.
using Configuration = std::map<std::string, std::int64_t>;

/// The sizes of a problem: inputs, channels, samples.
using Sizes = std::map<std::string, std::size_t>;

/// "inputs=64 samples=3072".
template <class Value>
std::string describe(const std::map<std::string, Value>& values) {
  std::string text;
  for (const auto& [name, value] : values)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

/// "design=1,stages=4". Throws Error(config) that names `option`.
Configuration parse_configuration(const std::string& option, const std::string& text);

}  // namespace tautline::jit
