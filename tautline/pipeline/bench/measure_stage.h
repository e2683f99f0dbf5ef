// Times one stage on one problem, and compares the time with the limits of the device.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/engine/profile.h"
#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measure_problem.h"

namespace tautline::pipeline {

struct Measurement {
  std::string stage;
  std::string problem;  ///< every size, as key=value pairs
  std::string device;
  std::string instruction_set;  ///< the code that ran
  double seconds = 0;           ///< of one run: median of the repeats
  double spread = 0;            ///< (upper - lower quartile) / median
  /// Median of a few runs after a rest, in which a card with a power limit runs faster than it can
  /// for long; on GPUs, for budgets of half a second and more.
  std::optional<double> burst_seconds;
  double operations = 0, bytes = 0;
  double rate = 0;
  std::string unit;              ///< of rate
  double fraction_of_limit = 0;  ///< time at the device's limits over `seconds`
  std::string limit;  ///< the limit with the longest time: arithmetic, memory or transfer
  /// The bandwidth of each input at this rate: channels x samples / seconds.
  double bandwidth_hz = 0;
  bool has_inputs =
      false;  ///< whether the problem has inputs; otherwise bandwidth_hz has no meaning
  /// bandwidth_hz over the instrument's own, where the problem has one.
  std::optional<double> real_time_factor;
  /// Of one run, where the card reports it: the whole card's, idle power included.
  std::optional<double> energy_j;
  /// While runs followed each other without a pause, for energy_j.
  std::optional<double> power_w;
  std::optional<engine::Profile> profile;  ///< of a whole run
};

/// Stages with data in the memory of the computing device, in order of the pipeline
/// (stage_table.h).
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
