// What was wrong with the data of a run over antenna voltages, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::pipeline {

/// The message about samples that are not finite; empty for none.
std::string not_finite_message(std::uint64_t samples);

/// Inputs that hold nothing for a while, whose level steps, or that the recorder clipped.
std::vector<std::string> input_warnings(const VoltageRunSummary& summary);

/// Damage, samples that are not finite, and what input_warnings() tells. Channels that never change are in the log of
/// the run.
std::vector<std::string> data_warnings(const VoltageRunSummary& summary);

}  // namespace tautline::pipeline
