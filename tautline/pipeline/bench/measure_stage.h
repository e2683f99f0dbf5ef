// Times one stage on one problem, and compares the time with the limits of the device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measurement.h"
#include "tautline/pipeline/bench/problem.h"

namespace tautline::pipeline {

/// Stages with their data where the device computes, in order of the pipeline (stage_table.h).
std::vector<std::string> measurable_stages();

/// Stages with data in pinned host memory: see measure_host_fed.h.
std::vector<std::string> host_fed_stages();

/// Whole runs of the commands, from a file: see measure_whole_run.h.
std::vector<std::string> whole_runs();

/// The sizes that the stage is measured with when none are named: enough to fill a GPU, or the work
/// of a CPU in a tenth of a second.
Problem default_problem(const std::string& stage, const device::Device& device);

/// The text of Measurement::problem. Throws Error(config) for an unknown stage or size.
std::string describe_asked(const std::string& stage, const Problem& problem,
                           const device::Device& device);

/// Random data, a warm-up, then repeats for about `budget_s`. On devices that compile, the data are
/// in their memory and marks of the device time the runs (unpack always reads host memory). Where
/// the card reports its energy, a measurement of equal length, a second at least, is made for it
/// (left out for budgets under half a second). Sizes that are not named have default_problem's
/// values. Throws Error(config) for an unknown stage or size.
Measurement measure_stage(const std::string& stage, const Problem& problem,
                          std::shared_ptr<const device::Device> device, const Limits& limits,
                          double budget_s = 1.0);
/// On several devices at once: the host_fed stages (measure_host_fed.h). `limits` are one device's.
Measurement measure_stage(const std::string& stage, const Problem& problem,
                          const std::vector<std::shared_ptr<const device::Device>>& devices,
                          const Limits& limits, double budget_s = 1.0);

}  // namespace tautline::pipeline
