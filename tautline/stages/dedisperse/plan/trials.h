// Which dispersion measures to try, and how finely their series are sampled.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

/// What DM plans know of an observation.
struct Band {
  std::vector<double> frequencies_mhz;  ///< channel centres
  double sample_time_s = 0;
  double dm_constant = core::kDispersionConstant;
};

/// Neighbouring trials of one sample time: dms and downsample of a Config.
struct DmRange {
  std::vector<double> dms;
  std::size_t downsample = 1;
  std::size_t first_trial = 0;  ///< among all trials
};

/// Trials in rising order, in ranges of rising downsample.
struct DmPlan {
  std::vector<DmRange> ranges;
  std::size_t trials() const;
  std::vector<double> dms() const;
};

/// Throws Error(config) unless 0 <= low <= high, both finite.
void require_range(double low, double high);

/// low, low + step, ... up to and including high; the last step is left out when it would pass high
/// by more than a millionth of a step. Throws Error(config).
std::vector<double> linear_dms(double low, double high, double step);

/// Levin's steps (docs/maths/dedisperse.md): from low until high is reached or passed, so that a
/// pulse `pulse_width_s` wide is broadened at most `tolerance` times. Throws Error(config).
std::vector<double> tolerance_dms(const Band& band, double low, double high, double pulse_width_s,
                                  double tolerance);

/// From text: numbers separated by white space or commas, # begins a comment. Sorted, each once.
/// Throws Error(format) naming `name` and the line.
std::vector<double> parse_dm_list(const std::string& text, const std::string& name);

/// Full width in seconds that a pulse of zero width has in one channel after dispersion by `dm`: at
/// the middle of the band.
double smearing_s(const Band& band, double dm);

/// Divides trials into ranges: neighbouring samples are added as long as a pulse `pulse_width_s`
/// wide is broadened at most `tolerance` times by that (1 or less: never), by powers of two up to
/// `most`. `dms` in rising order. Throws Error(config).
DmPlan make_dm_plan(const Band& band, const std::vector<double>& dms, double pulse_width_s,
                    double tolerance, std::size_t most = 32);

/// Config of a range: `config` with the trials of the range.
Config config_of(const Config& config, const DmRange& range);

/// Host and device memory of plans: tables, one state and its output of each.
std::size_t needed_bytes(const std::vector<std::shared_ptr<const Plan>>& plans);
/// What plans made for the ranges will need and do, for people: one line a range and, of several,
/// one of totals.
std::string describe(const std::vector<std::shared_ptr<const Plan>>& plans);

/// Plans for every range of `plan`, each with blocks as long as `limit_bytes` (0: no limit)
/// allows for all together, at most config.max_samples of input. Throws Error(memory) with the
/// numbers when not even blocks of 1,024 times fit.
std::vector<std::shared_ptr<const Plan>> make_plans(const Config& config, const DmPlan& plan,
                                                    std::shared_ptr<const device::Device> device,
                                                    std::size_t limit_bytes);

}  // namespace tautline::stages::dedisperse
