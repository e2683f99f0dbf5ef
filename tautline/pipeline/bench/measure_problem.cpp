#include "tautline/pipeline/bench/measure_problem.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/core/sample_format.h"
#include "tautline/pipeline/bench/stage_table.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMostSweepValues = 1000;

std::optional<std::size_t> whole_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

core::SampleFormat named_complex_format(const std::string& name) {
  const core::SampleFormat format = core::parse_sample_format(name);
  for (const core::SampleFormat& known :
       {core::kCi4, core::kCi8, core::kCi16, core::kCf16, core::kCf32})
    if (format == known) return format;
  throw Error(ErrorKind::config, "`problem`: format", name, "ci4, ci8, ci16, cf16 or cf32");
}

Problem find_named(const StageEntry& stage, const std::string& name) {
  for (const NamedProblem& known : stage.problems)
    if (known.name == name) return known.sizes;
  std::string names;
  for (const std::string& known : problem_names(stage.name)) names += known + ", ";
  throw Error(ErrorKind::config, "`problem` of " + stage.name, name,
              names + "or sizes as key=value,key=value");
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

const std::vector<NamedProblem>& named_problems(const std::string& stage) {
  return find_stage(stage).problems;
}

std::vector<std::string> problem_names(const std::string& stage) {
  const StageEntry& entry = find_stage(stage);
  std::vector<std::string> names;
  for (const NamedProblem& problem : entry.problems) names.push_back(problem.name);
  if (!entry.names_help.empty()) names.push_back(entry.names_help);
  return names;
}

Problem parse_problem(const std::string& stage, const std::string& text) {
  const StageEntry& entry = find_stage(stage);
  Problem problem;
  bool first = true;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const bool name = equals == std::string::npos;
    const Problem words =
        entry.words != nullptr && (first || !name) ? entry.words(part) : Problem{};
    if (!words.empty()) {
      for (const auto& [key, value] : words) problem[key] = value;
    } else if (name && first) {
      problem = find_named(entry, part);
    } else if (part.starts_with("format=")) {
      const core::SampleFormat format = named_complex_format(part.substr(equals + 1));
      problem["bits"] = static_cast<std::size_t>(format.bits);
      if (format == core::kCf16) problem["half"] = 1;
    } else {
      const bool pair = !name && equals > 0;
      const auto value = pair ? whole_number(part.substr(equals + 1)) : std::nullopt;
      if (!value || *value == 0)
        throw Error(ErrorKind::config, "problem", part, "sizes as key=value,key=value");
      problem[part.substr(0, equals)] = *value;
    }
    first = false;
  }
  return problem;
}

SweptSize parse_sweep(const std::string& text) {
  const auto wrong = [&] {
    return Error(ErrorKind::config, "sweep", text,
                 "inputs=16:2048 (doubling), inputs=64:1024:64 (in steps) or taps=4/8/16");
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw wrong();
  const std::string values = text.substr(equals + 1);
  const bool range = values.find(':') != std::string::npos;
  std::vector<std::size_t> numbers;
  for (const std::string& part : split(values, range ? ':' : '/')) {
    const auto number = whole_number(part);
    if (!number || *number == 0) throw wrong();
    numbers.push_back(*number);
  }
  if (numbers.empty() || (range && (numbers.size() > 3 || numbers.size() < 2))) throw wrong();
  SweptSize sweep{text.substr(0, equals), {}};
  if (!range) {
    sweep.values = numbers;
    return sweep;
  }
  const std::size_t step = numbers.size() == 3 ? numbers[2] : 0;
  for (std::size_t value = numbers[0]; value <= numbers[1]; value += step == 0 ? value : step) {
    sweep.values.push_back(value);
    if (sweep.values.size() > kMostSweepValues) throw wrong();
  }
  if (sweep.values.empty()) throw wrong();
  return sweep;
}

}  // namespace tautline::pipeline
