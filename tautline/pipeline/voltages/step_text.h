// Level steps of voltages, as text and as JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/stream/voltage_step.h"

namespace tautline::pipeline {

/// {sample, before, after, inputs: {input, db}} of each where files join, {sample, within_samples, time_s, inputs}
/// inside files; decibels of power.
nlohmann::ordered_json level_steps(const std::vector<stream::VoltageStep>& steps);

/// "b.dada after a.dada (sample 4096): inputs 0x, 1x by -0.61 to +1.49 dB; near 1.25 s: input 0x by +3.01 dB ...",
/// `names` of all inputs; empty without steps.
std::string level_steps_text(const std::vector<stream::VoltageStep>& steps,
                             const std::vector<std::string>& names);

}  // namespace tautline::pipeline
