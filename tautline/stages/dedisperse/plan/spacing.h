// How far apart trial DMs may lie for a loss of signal-to-noise, and what given ones lose.
#pragma once

#include <vector>

#include "tautline/stages/dedisperse/plan/trials.h"

namespace tautline::stages::dedisperse {

/// Trials from `low` to `high`, both included, so that pulses `pulse_width_s` wide (0: one sample)
/// or wider lose at most `loss` of the best boxcar's S/N half-way between two of them, against a
/// trial of their own DM (docs/maths/dedisperse.md). Steps are whole numbers of two digits, 0.25 or
/// 1.7, and grow with the DM. Throws Error(config).
std::vector<double> spaced_dms(const Band& band, double low, double high, double pulse_width_s,
                               double loss);

/// The largest such loss between neighbours of `dms`, which rise; 0 for one trial. Of many trials
/// some are looked at: the first, those with a wider step than all before, and others evenly among them.
double spacing_loss(const Band& band, const std::vector<double>& dms, double pulse_width_s);

}  // namespace tautline::stages::dedisperse
