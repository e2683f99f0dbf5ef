// The stages that can be tuned, and the problems that they are tuned for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/jit/tunable.h"
#include "tautline/pipeline/measure_stage.h"

namespace tautline::pipeline {

struct TuningProblem {
  std::string name;            ///< as the user wrote it
  Problem sizes;               ///< all of them
  std::string format = "ci8";  ///< of the input
};

/// In order of the pipeline.
std::vector<std::string> tunable_stages();

/// The problems that are tuned when none is named.
std::vector<TuningProblem> tuning_presets(const std::string& stage);

/// "NAME", "k=v,...", or "NAME,k=v,...", where NAME is a preset whose sizes the others replace and
/// `format` may be among the keys. Without a name, what is not given is as in the first preset.
/// Throws Error(config).
TuningProblem parse_tuning_problem(const std::string& stage, const std::string& text);

/// Throws Error(config) for an unknown stage and whatever the stage's own make_tunable throws.
jit::Tunable make_tunable(const std::string& stage, const TuningProblem& problem,
                          std::shared_ptr<const device::Device> device);

}  // namespace tautline::pipeline
