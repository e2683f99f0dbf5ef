// The stages that can be tuned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/jit/tunable.h"

namespace tautline::pipeline {

/// In order of the pipeline.
std::vector<std::string> tunable_stages();

/// The problems that a stage is tuned for when none is named: its named_problems().
std::vector<std::string> tuning_problems(const std::string& stage);

/// `problem` is a result of parse_problem; absent sizes have the stage's defaults. Throws
/// Error(config) for an unknown stage, name or size, and the errors of the stage's make_tunable.
jit::Tunable make_tunable(const std::string& stage, const std::string& problem,
                          std::shared_ptr<const device::Device> device);

}  // namespace tautline::pipeline
