#include "tautline/pipeline/voltages/step_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kNamedSteps = 3;

double decibels(const stream::InputStep& step) {
  return 10 * std::log10(std::max(step.power_ratio, 1e-30));
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

nlohmann::ordered_json level_steps(const std::vector<stream::VoltageStep>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const stream::VoltageStep& step : steps) {
    auto inputs = nlohmann::ordered_json::array();
    for (const stream::InputStep& one : step.inputs)
      inputs.push_back({{"input", one.input}, {"db", decibels(one)}});
    nlohmann::ordered_json one{{"sample", step.sample}};
    if (step.after.empty())
      one.update({{"within_samples", step.within_samples}, {"time_s", step.time_s}});
    else
      one.update({{"before", step.before}, {"after", step.after}});
    one["inputs"] = inputs;
    list.push_back(std::move(one));
  }
  return list;
}

std::string level_steps_text(const std::vector<stream::VoltageStep>& steps,
                             const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (k == kNamedSteps) return text + " ...";
    const stream::VoltageStep& step = steps[k];
    std::vector<std::size_t> numbers;
    double least = 1e9, most = -1e9;
    for (const stream::InputStep& one : step.inputs) {
      numbers.push_back(one.input);
      least = std::min(least, decibels(one));
      most = std::max(most, decibels(one));
    }
    const std::string place =
        step.after.empty() ? fmt::format("near {:.6g} s", step.time_s)
                           : fmt::format("{} after {} (sample {})", file_name(step.after),
                                         file_name(step.before), step.sample);
    text += fmt::format("{}{}: {} by {:+.2f}", k > 0 ? "; " : "", place,
                        name_inputs(numbers, names), least);
    text += fmt::format("{:+.2f}", most) == fmt::format("{:+.2f}", least)
                ? " dB"
                : fmt::format(" to {:+.2f} dB", most);
  }
  return text;
}

}  // namespace tautline::pipeline
