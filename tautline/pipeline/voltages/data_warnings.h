// What was wrong with the data of a run over antenna voltages, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::pipeline {

/// What a file of voltages, and the user, do not say, and what is written instead.
std::string unknown_frequency_message(const std::string& file);
std::string unknown_start_message(const std::string& file);
std::string unknown_positions_message();

/// The message about samples that are not finite; empty for none.
std::string not_finite_message(std::uint64_t samples);

/// Inputs that hold nothing for a while, whose level steps, that the recorder clipped, or that have few valid spectra,
/// and channels that rounding clipped.
std::vector<std::string> input_warnings(const VoltageRunSummary& summary);

/// Damage, samples that are not finite, what input_warnings() tells, and that no spectrum is valid. Channels that never change are in the log of
/// the run.
std::vector<std::string> data_warnings(const VoltageRunSummary& summary);

}  // namespace tautline::pipeline
