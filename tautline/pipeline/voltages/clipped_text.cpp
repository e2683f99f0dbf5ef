#include "tautline/pipeline/voltages/clipped_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/few_digits.h"
#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kNamedClipped = 4;

bool have_ends(const stream::RecordedLevels& levels) {
  return levels.part > 0 && !levels.inputs.empty() && levels.inputs.front().end > 0;
}

std::vector<std::size_t> still_inputs(const stream::RecordedLevels& levels, std::size_t part) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < levels.inputs.size(); ++i)
    if (levels.inputs[i].still(part)) inputs.push_back(i);
  return inputs;
}

std::string looked_at(double part) {
  return part < 1 ? fmt::format("looked at: 1 of {:.0f}", 1 / part) : "all looked at";
}

}  // namespace

std::string clipped_text(const stream::RecordedLevels& levels,
                         const std::vector<std::string>& names) {
  std::vector<std::size_t> inputs = levels.clipped();
  if (inputs.empty()) return {};
  std::ranges::stable_sort(inputs, std::greater(),
                           [&](std::size_t i) { return levels.inputs[i].share(); });
  std::string text = "clipped by the recorder:";
  for (std::size_t k = 0; k < std::min(inputs.size(), kNamedClipped); ++k) {
    const stream::RecordedLevel& one = levels.inputs[inputs[k]];
    text += fmt::format(
        "{} {}: {} % of the samples at the ends of their range, {} (noise of "
        "its power: {} %)",
        k > 0 ? ";" : "", name_inputs({inputs[k]}, names), core::few_digits(100 * one.share()),
        one.end, core::few_digits(100 * one.noise_share()));
  }
  if (inputs.size() > kNamedClipped)
    text += fmt::format("; and {} more", inputs.size() - kNamedClipped);
  return text + " (" + looked_at(levels.part) + ")";
}

std::string still_parts_text(const stream::RecordedLevels& levels,
                             const std::vector<std::string>& names) {
  std::string text;
  for (const auto& [part, name] : {std::pair{0, "real"}, std::pair{1, "imaginary"}})
    if (const auto inputs = still_inputs(levels, static_cast<std::size_t>(part)); !inputs.empty())
      text += fmt::format("{}the {} parts of {}", text.empty() ? "" : " and ", name,
                          name_inputs(inputs, names));
  if (text.empty()) return {};
  return text + " never change (" + looked_at(levels.part) +
         "): as where a cable or a converter is dead, which halves the power";
}

std::string at_ends_text(const stream::RecordedLevels& levels,
                         const std::vector<std::string>& names) {
  if (!have_ends(levels)) return {};
  const std::vector<double> shares = at_ends(levels);
  const auto most = std::ranges::max_element(shares);
  return (*most > 0
              ? fmt::format("{} % of the samples of {} at most", core::few_digits(100 * *most),
                            name_inputs({static_cast<std::size_t>(most - shares.begin())}, names))
              : "no samples") +
         " (" + looked_at(levels.part) + ")";
}

std::vector<double> at_ends(const stream::RecordedLevels& levels) {
  std::vector<double> shares;
  if (have_ends(levels))
    for (const stream::RecordedLevel& one : levels.inputs) shares.push_back(one.share());
  return shares;
}

nlohmann::ordered_json recorded_levels(const stream::RecordedLevels& levels) {
  if (levels.inputs.empty() || levels.part == 0) return nullptr;
  std::vector<double> rms, of_noise;
  for (const stream::RecordedLevel& one : levels.inputs) {
    rms.push_back(one.rms);
    of_noise.push_back(one.noise_share());
  }
  nlohmann::ordered_json object{{"part_looked_at", levels.part}, {"rms", rms}};
  object["at_ends"] =
      have_ends(levels) ? nlohmann::ordered_json(at_ends(levels)) : nlohmann::ordered_json();
  object["at_ends_of_noise"] =
      have_ends(levels) ? nlohmann::ordered_json(of_noise) : nlohmann::ordered_json();
  object["clipped_inputs"] = levels.clipped();
  object["still_real"] = still_inputs(levels, 0);
  object["still_imaginary"] = still_inputs(levels, 1);
  return object;
}

}  // namespace tautline::pipeline
