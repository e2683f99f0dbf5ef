#include "tautline/pipeline/bench/tune_stage.h"

#include <fmt/format.h>

#include "tautline/core/error.h"
#include "tautline/core/nearest_name.h"
#include "tautline/pipeline/bench/measure_problem.h"
#include "tautline/pipeline/bench/stage_table.h"

namespace tautline::pipeline {

namespace {

const StageEntry& find_tunable(const std::string& name) {
  std::vector<std::string> names;
  for (const StageEntry& stage : stage_table()) {
    if (stage.tune == nullptr) continue;
    if (stage.name == name) return stage;
    names.push_back(stage.name);
  }
  throw core::Error(core::ErrorKind::config, "stage to tune", name,
                    fmt::format("{}", fmt::join(names, " or ")), core::did_you_mean(name, names));
}

}  // namespace

std::vector<std::string> tunable_stages() {
  std::vector<std::string> names;
  for (const StageEntry& stage : stage_table())
    if (stage.tune != nullptr) names.push_back(stage.name);
  return names;
}

std::vector<std::string> tuning_problems(const std::string& stage) {
  std::vector<std::string> names;
  for (const NamedProblem& problem : find_tunable(stage).problems) names.push_back(problem.name);
  return names;
}

jit::Tunable make_tunable(const std::string& stage, const std::string& problem,
                          std::shared_ptr<const device::Device> device) {
  const StageEntry& known = find_tunable(stage);
  return known.tune(complete(stage, known.sizes_when_tuned(), parse_problem(stage, problem)),
                    device);
}

}  // namespace tautline::pipeline
