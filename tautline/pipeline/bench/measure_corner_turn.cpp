#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/corner_turn/case_run.h"

namespace tautline::pipeline {

namespace corner_turn = stages::corner_turn;

StageRun set_up_corner_turn(const Problem& p, const DevicePointer& device) {
  const corner_turn::Case problem{p.at("inputs"), p.at("channels"), p.at("spectra"),
                                  static_cast<int>(p.at("output_bits"))};
  const auto plan = corner_turn::make_plan(problem.config(), device);
  require_on_device("corner_turn", plan->backend(), *device);
  const auto calls = std::make_shared<corner_turn::CaseRun>(problem, device);
  calls->use(plan);
  return {.memory = calls,
          .run = [calls] { calls->execute(); },
          .code = plan->backend(),
          .operations = problem.operations(),
          .bytes = problem.bytes(),
          .count = static_cast<double>(problem.elements()),
          .input_samples = static_cast<double>(problem.channels * problem.spectra),
          .arithmetic = [](const Limits& limits) { return limits.float_operations_per_s; }};
}

}  // namespace tautline::pipeline
