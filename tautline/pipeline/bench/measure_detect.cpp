#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/detect/case_run.h"

namespace tautline::pipeline {

namespace detect = stages::detect;

detect::Case detect_case(const Problem& sizes) {
  if (sizes.at("rate_hz") == 0)
    throw core::Error(core::ErrorKind::config, "`problem`: rate_hz", "0", "1 or more");
  detect::Case problem;
  detect::Config& config = problem.config;
  config.trials = sizes.at("trials");
  problem.samples = sizes.at("samples");
  config.sample_time_s = 1 / static_cast<double>(sizes.at("rate_hz"));
  config.max_width_s = 1e-3 * static_cast<double>(sizes.at("width_ms"));
  problem.pulses = sizes.at("pulses");
  problem.snr = static_cast<double>(sizes.at("snr"));
  problem.impulses_every = sizes.at("impulses_every");
  return problem;
}

// One block in the middle of a stream.
StageRun set_up_detect(const Problem& sizes, const DevicePointer& device) {
  detect::Case problem = detect_case(sizes);
  problem.config.max_samples = problem.samples;
  if (sizes.at("float") != 0) problem.config.type = core::SampleType::f32;
  const auto plan = detect::make_plan(problem.config, device);
  require_on_device("detect", plan->backend(), *device);
  const auto calls = std::make_shared<detect::CaseRun>(problem, device);
  calls->use(plan);
  const auto samples = static_cast<double>(problem.samples);
  return {.memory = calls,
          .run = [calls] { calls->execute(); },
          .code = plan->backend() + ", " + std::to_string(plan->widths().size()) + " boxcars",
          .operations = problem.operations(),
          .bytes = problem.bytes(),
          .count = static_cast<double>(problem.config.trials) * samples,
          .input_samples = samples,
          .data_s = samples * problem.config.sample_time_s};
}

}  // namespace tautline::pipeline
