#include "tautline/pipeline/voltages/data_warnings.h"

#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/time.h"
#include "tautline/pipeline/voltages/clipped_text.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/step_text.h"

namespace tautline::pipeline {

std::string unknown_frequency_message(const std::string& file) {
  return "no `centre_hz`, and " + file +
         " does not say the sky frequency: frequencies are written as if the middle of the band "
         "were 0 Hz";
}

std::string unknown_start_message(const std::string& file) {
  return "no `utc_start`, and " + file + " does not say when it begins: times are written from " +
         core::to_iso(core::Instant{}) + " UTC on";
}

std::string unknown_positions_message() {
  return "no `array_path`: antenna positions are unknown and written as zero; pyuvdata reads such "
         "a "
         "file only with run_check_acceptability=False";
}

std::string not_finite_message(std::uint64_t samples) {
  if (samples == 0) return {};
  return core::counted(samples, "sample was", "samples were") +
         " not finite (NaN or infinite): flagged as invalid";
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
  add("", still_parts_text(summary.levels, summary.input_names));
  add("", summary.valid.text(summary.input_names));
  add("", summary.clipped_channels.text(summary.input_names));
  return warnings;
}

std::vector<std::string> data_warnings(const VoltageRunSummary& summary) {
  std::vector<std::string> warnings = summary.damage.messages;
  if (summary.not_finite > 0) warnings.push_back(not_finite_message(summary.not_finite));
  for (std::string& text : input_warnings(summary)) warnings.push_back(std::move(text));
  if (std::string nothing = summary.valid.nothing_text(); !nothing.empty())
    warnings.push_back(std::move(nothing));
  return warnings;
}

}  // namespace tautline::pipeline
