#include "cli/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tautline::cli {

nlohmann::ordered_json limits_json(const pipeline::Limits& limits) {
  nlohmann::ordered_json object;
  for (const pipeline::LimitField& field : pipeline::limit_fields()) {
    const double value = limits.*field.value;
    object[field.key] = value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  }
  object["matrix_instruction"] = limits.matrix_instruction.empty()
                                     ? nlohmann::ordered_json()
                                     : nlohmann::ordered_json(limits.matrix_instruction);
  return object;
}

std::string limits_text(const pipeline::Limits& limits) {
  std::string text;
  for (const pipeline::LimitField& field : pipeline::limit_fields()) {
    const double value = limits.*field.value;
    if (value <= 0) continue;
    const std::string key = field.key;
    std::string what = field.description;
    if (key.find("matrix") != std::string::npos) what += " (" + limits.matrix_instruction + ")";
    const char* unit = key.ends_with("bytes_per_s") ? "B/s" : " operations/s";
    text += fmt::format("  {:<44} {}\n", what, with_prefix(value, unit));
  }
  return text;
}

std::string with_prefix(double value, const std::string& unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  const int steps = value > 0 ? static_cast<int>(std::log10(value) / 3) : 0;
  const int step = std::min(std::max(steps, 0), 5);
  return fmt::format("{:.4g} {}{}", value / std::pow(1000.0, step), kPrefixes[step], unit);
}

}  // namespace tautline::cli
