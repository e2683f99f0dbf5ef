// A measurement of a stage or of a whole run.
#pragma once

#include <optional>
#include <string>

#include "tautline/engine/profile.h"

namespace tautline::pipeline {

struct Measurement {
  std::string stage;
  std::string problem;  ///< every size, as key=value pairs
  std::string device;
  std::string instruction_set;  ///< the code that ran
  double seconds = 0;           ///< of one run: median of the repeats
  double spread = 0;            ///< (upper - lower quartile) / median
  /// Median of a few runs after a rest, in which a card that its power limits runs faster than it
  /// can for long; on GPUs, for budgets of half a second and more.
  std::optional<double> burst_seconds;
  double operations = 0, bytes = 0;
  double rate = 0;
  std::string unit;              ///< of rate
  double fraction_of_limit = 0;  ///< time at the device's limits over `seconds`
  std::string limit;             ///< the one that takes longest: arithmetic, memory or transfer
  /// Bandwidth of each input that is kept up with: channels x samples / seconds.
  double bandwidth_hz = 0;
  bool has_inputs = false;  ///< the problem has; otherwise bandwidth_hz is no input's
  /// bandwidth_hz over the instrument's own, where the problem has one.
  std::optional<double> real_time_factor;
  /// Of one run, where the card reports it: the whole card's, idle power included.
  std::optional<double> energy_j;
  /// While runs followed each other without a pause, for energy_j.
  std::optional<double> power_w;
  std::optional<engine::Profile> profile;  ///< of a whole run
};

}  // namespace tautline::pipeline
