#include "tautline/pipeline/voltages/data_warnings.h"

#include <fmt/format.h>

#include <utility>

#include "tautline/pipeline/voltages/clipped_text.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/step_text.h"

namespace tautline::pipeline {

std::string not_finite_message(std::uint64_t samples) {
  if (samples == 0) return {};
  return fmt::format("{} samples were not finite (NaN or infinite): flagged as invalid", samples);
}

std::vector<std::string> input_warnings(const VoltageRunSummary& summary) {
  std::vector<std::string> warnings;
  const auto add = [&](const std::string& before, const std::string& text) {
    if (!text.empty()) warnings.push_back(before + text);
  };
  add("samples that never change, taken for lost: ",
      empty_text(summary.empty, summary.samples, summary.input_names));
  add("steps of level, left as they are: ",
      level_steps_text(summary.level_steps, summary.input_names));
  add("", clipped_text(summary.levels, summary.input_names));
  return warnings;
}

std::vector<std::string> data_warnings(const VoltageRunSummary& summary) {
  std::vector<std::string> warnings = summary.damage.messages;
  if (summary.not_finite > 0) warnings.push_back(not_finite_message(summary.not_finite));
  for (std::string& text : input_warnings(summary)) warnings.push_back(std::move(text));
  return warnings;
}

}  // namespace tautline::pipeline
