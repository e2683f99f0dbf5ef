#include "tautline/pipeline/voltages/empty_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/few_digits.h"
#include "tautline/formats/input_name.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kNamedStretches = 3, kNamedInputs = 4;

// Keyed by first sample and length.
using InputsOfStretch = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::size_t>>;

InputsOfStretch inputs_of_stretches(const stream::EmptyVoltages& found) {
  InputsOfStretch inputs;
  for (const stream::EmptyInput& one : found.list)
    inputs[{one.first_sample, one.samples}].push_back(one.input);
  return inputs;
}

std::map<std::size_t, std::vector<std::size_t>> inputs_of_channels(
    const std::vector<stream::ConstantChannel>& constant) {
  std::map<std::size_t, std::vector<std::size_t>> inputs;
  for (const stream::ConstantChannel& one : constant) inputs[one.channel].push_back(one.input);
  return inputs;
}

// Of how many stretches, and how much of each input, where not all are named. The `stretches` of those that are listed.
std::string shares_text(const stream::EmptyVoltages& found, std::size_t stretches,
                        std::uint64_t samples, const std::vector<std::string>& names) {
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < found.inputs.size(); ++i)
    if (found.inputs[i] > 0) inputs.push_back(i);
  std::ranges::stable_sort(inputs, std::greater(), [&](std::size_t i) { return found.inputs[i]; });
  std::string text =
      fmt::format(" ... (in all {}{}:", found.stretches > found.list.size() ? "more than " : "",
                  core::counted(stretches, "stretch", "stretches"));
  for (std::size_t k = 0; k < std::min(inputs.size(), kNamedInputs); ++k)
    text += fmt::format("{} {} {} %", k > 0 ? "," : "", name_inputs({inputs[k]}, names),
                        core::few_digits(100 * static_cast<double>(found.inputs[inputs[k]]) /
                                         static_cast<double>(std::max<std::uint64_t>(samples, 1))));
  return text + (inputs.size() > kNamedInputs ? ", ...)" : ")");
}

std::string stretches_text(const stream::EmptyVoltages& found, std::uint64_t samples,
                           const std::vector<std::string>& names) {
  const auto stretches = inputs_of_stretches(found);
  std::string text;
  std::size_t named = 0;
  for (const auto& [times, inputs] : stretches) {
    if (named == kNamedStretches)
      return text + shares_text(found, stretches.size(), samples, names);
    text += named++ > 0 ? "; " : "";
    text += name_inputs(inputs, names);
    if (times.first == 0 && times.second == samples)
      text += inputs.size() == 1 ? " never changes" : " never change";
    else
      text += fmt::format(" for {} from {}", core::counted(times.second, "sample"), times.first);
  }
  return text;
}

}  // namespace

std::string empty_channels_text(const stream::EmptyVoltages& found,
                                const std::vector<std::string>& names) {
  std::map<std::pair<std::size_t, std::uint64_t>, std::vector<std::size_t>> inputs;
  for (const stream::EmptyChannel& one : found.channels)
    inputs[{one.channel, one.samples}].push_back(one.input);
  std::string text;
  std::size_t named = 0;
  for (auto at = inputs.begin(); at != inputs.end();) {
    const auto& [first, samples] = at->first;
    const std::vector<std::size_t>& of = at->second;
    std::size_t last = first;
    const auto is_next = [&](const auto& one) {
      return one.first == std::pair(last + 1, samples) && one.second == of;
    };
    while (++at != inputs.end() && is_next(*at)) ++last;
    if (named == kNamedStretches) {
      text += " ...";
      break;
    }
    text += named++ > 0 ? "; " : "";
    text += last == first ? fmt::format("channel {}", first)
                          : fmt::format("channels {} to {}", first, last);
    text += fmt::format(" of {} for {} samples", name_inputs(of, names), samples);
  }
  return found.channels.size() < 2
             ? text
             : fmt::format("{} ({} in all)", text, core::counted(found.values, "value"));
}

std::string constant_text(const std::vector<stream::ConstantChannel>& constant,
                          const std::vector<std::string>& names) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [channel, of] : inputs_of_channels(constant)) {
    if (named == kNamedStretches) return text + " ...";
    text += named++ > 0 ? "; " : "";
    text += fmt::format("channel {} of {}", channel, name_inputs(of, names));
  }
  return text;
}

nlohmann::ordered_json constant_channels(const std::vector<stream::ConstantChannel>& constant) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [channel, of] : inputs_of_channels(constant))
    list.push_back({{"channel", channel}, {"inputs", of}});
  return list;
}

std::string unchanging_text(std::uint64_t spectra) {
  return fmt::format(
      "spectra that are zeros where inputs did not change or data had gaps, by the record beside "
      "the file: {} (times x inputs)",
      spectra);
}

std::vector<std::string> names_of_inputs(const formats::ArrayLayout& array) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < array.inputs.size(); ++i)
    names.push_back(formats::input_name(array, i));
  return names;
}

std::vector<std::string> names_of_inputs(const core::VoltageDescription& description) {
  const std::size_t feeds = description.polarisations == 2 ? 2 : 1;
  return names_of_inputs(formats::unknown_array(description.inputs() / feeds, feeds));
}

std::string name_inputs(const std::vector<std::size_t>& inputs,
                        const std::vector<std::string>& names) {
  if (names.size() > 1 && inputs.size() == names.size()) return "all inputs";
  std::string text = inputs.size() == 1 ? "input" : "inputs";
  for (std::size_t k = 0; k < inputs.size() && k < kNamedInputs; ++k)
    text += fmt::format("{} {}", k > 0 ? "," : "", names.at(inputs[k]));
  if (inputs.size() > kNamedInputs)
    text += fmt::format(" and {} more", inputs.size() - kNamedInputs);
  return text;
}

nlohmann::ordered_json empty_stretches(const stream::EmptyVoltages& found, std::size_t most) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [times, inputs] : inputs_of_stretches(found)) {
    if (list.size() == most) break;
    list.push_back({{"inputs", inputs}, {"first_sample", times.first}, {"samples", times.second}});
  }
  return list;
}

nlohmann::ordered_json empty_inputs(const stream::EmptyVoltages& found) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < found.inputs.size(); ++i)
    if (found.inputs[i] > 0) list.push_back({{"input", i}, {"samples", found.inputs[i]}});
  return list;
}

nlohmann::ordered_json empty_channels(const stream::EmptyVoltages& found, std::size_t most) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < std::min(most, found.channels.size()); ++k) {
    const stream::EmptyChannel& one = found.channels[k];
    list.push_back({{"channel", one.channel}, {"input", one.input}, {"samples", one.samples}});
  }
  return list;
}

std::string empty_text(const stream::EmptyVoltages& found, std::uint64_t samples,
                       const std::vector<std::string>& names) {
  const std::string stretches = stretches_text(found, samples, names),
                    channels = empty_channels_text(found, names);
  return stretches + (stretches.empty() || channels.empty() ? "" : "; ") + channels;
}

std::string empty_shares(const stream::EmptyVoltages& found, std::uint64_t samples,
                         const std::vector<std::string>& names) {
  std::map<std::uint64_t, std::vector<std::size_t>, std::greater<>> inputs;  // by empty samples
  for (std::size_t i = 0; i < found.inputs.size(); ++i)
    if (found.inputs[i] > 0) inputs[found.inputs[i]].push_back(i);
  std::string text;
  std::size_t named = 0;
  for (const auto& [count, of] : inputs) {
    if (named == kNamedInputs) return text + " ...";
    text += named++ > 0 ? ", " : "";
    text += fmt::format("{} for {} of {} ({:.3g} %)", name_inputs(of, names), count,
                        core::counted(samples, "sample"),
                        100 * static_cast<double>(count) /
                            static_cast<double>(std::max<std::uint64_t>(samples, 1)));
  }
  return text;
}

}  // namespace tautline::pipeline
