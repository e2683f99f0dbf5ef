#include "tautline/pipeline/tune_stage.h"

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/tune.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

struct Stage {
  std::string name;
  std::vector<TuningProblem> presets;
  jit::Tunable (*make)(const TuningProblem&, std::shared_ptr<const device::Device>);
};

jit::Tunable make_correlate(const TuningProblem& problem,
                            std::shared_ptr<const device::Device> device) {
  stages::correlate::Config config;
  config.inputs = problem.sizes.at("inputs");
  config.channels = problem.sizes.at("channels");
  config.max_samples = problem.sizes.at("samples");
  config.format = core::parse_sample_format(problem.format);
  return stages::correlate::make_tunable(config, std::move(device));
}

std::vector<TuningProblem> presets(const std::string& stage) {
  std::vector<TuningProblem> all;
  for (const NamedProblem& named : named_problems())
    if (named.stage == stage) all.push_back({named.name, named.sizes, "ci8"});
  return all;
}

const Stage& find_stage(const std::string& name) {
  static const std::vector<Stage> stages{{"correlate", presets("correlate"), make_correlate}};
  for (const Stage& stage : stages)
    if (stage.name == name) return stage;
  throw Error(ErrorKind::config, "stage to tune", name, "correlate");
}

std::string known_names(const Stage& stage) {
  std::string text = "sizes as ";
  for (const auto& [key, unused] : stage.presets.front().sizes) text += key + "=N,";
  text += "format=ci8, or one of";
  for (const TuningProblem& preset : stage.presets) text += " " + preset.name;
  return text;
}

void set_size(TuningProblem& problem, const Stage& stage, const std::string& pair) {
  if (pair.starts_with("format=")) {
    problem.format = pair.substr(7);
    core::parse_sample_format(problem.format);
    return;
  }
  for (const auto& [key, value] : parse_problem(stage.name, pair)) {
    const auto known = problem.sizes.find(key);
    if (known == problem.sizes.end())
      throw Error(ErrorKind::config, "--problem", key, known_names(stage));
    known->second = value;
  }
}

}  // namespace

std::vector<std::string> tunable_stages() {
  return {"correlate"};
}

std::vector<TuningProblem> tuning_presets(const std::string& stage) {
  return find_stage(stage).presets;
}

TuningProblem parse_tuning_problem(const std::string& stage, const std::string& text) {
  const Stage& known = find_stage(stage);
  TuningProblem problem = known.presets.front();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    const auto preset = std::find_if(known.presets.begin(), known.presets.end(),
                                     [&](const TuningProblem& p) { return p.name == part; });
    if (at == 0 && preset != known.presets.end())
      problem = *preset;
    else if (part.find('=') == std::string::npos)
      throw Error(ErrorKind::config, "--problem", part, known_names(known));
    else
      set_size(problem, known, part);
    at = comma + 1;
  }
  problem.name = text;
  return problem;
}

jit::Tunable make_tunable(const std::string& stage, const TuningProblem& problem,
                          std::shared_ptr<const device::Device> device) {
  return find_stage(stage).make(problem, std::move(device));
}

}  // namespace tautline::pipeline
