// Times one stage on one problem beside what the device could do at most.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/cpu/limits.h"
#include "tautline/device/device.h"

namespace tautline::pipeline {

/// "channels=1024,taps=16" as a map; sizes not named have the stage's defaults.
using Problem = std::map<std::string, std::size_t>;

struct Measurement {
  std::string stage;
  std::string problem;          ///< every size, as key=value pairs
  std::string device;
  std::string instruction_set;  ///< the code that ran
  double seconds = 0;           ///< median of the repeats
  double spread = 0;            ///< (upper - lower quartile) / median
  double operations = 0, bytes = 0;
  double rate = 0;
  std::string unit;             ///< of rate
  double fraction_of_limit = 0; ///< time at the device's limits over `seconds`
};

/// Stages that measure_stage knows, in order of the pipeline.
std::vector<std::string> measurable_stages();

/// "k=v,..." to a Problem. Throws Error(config).
Problem parse_problem(const std::string& text);

/// Random data, a warm-up, then repeats for about `budget_s`. The limit is the longer of operations
/// at the measured arithmetic rate and bytes at the measured copy rate. Throws Error(config) for an
/// unknown stage or size.
Measurement measure_stage(const std::string& stage, const Problem& problem,
                          std::shared_ptr<const device::Device> device,
                          const device::cpu::Limits& limits, double budget_s = 1.0);

}  // namespace tautline::pipeline
