// Steps of a count rate inside a run: a shutter that leaves dark counts, a lamp that changes its brightness.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"

namespace tautline::pipeline {

struct RateStep {
  double time_s = 0;
  double before_khz = 0, after_khz = 0;  ///< means up to the steps next to it, or the trace's ends
};

/// In order of time; docs/maths/autocorrelate.md has the rule and the rate of false alarms. None in traces of fewer than
/// 65 cells.
std::vector<RateStep> rate_steps(const core::RateTrace& trace);

/// "at 1.25 s from 5.1 to 0.02 kHz, ...", and how many more there are.
std::string steps_text(const std::vector<RateStep>& steps);

/// Of the first signal of a curve that has any; those named in `stopped`, and masked curves, are not looked at.
std::vector<RateStep> steps_of_curve(const core::CorrelationCurves& curves, std::size_t curve,
                                     const std::set<std::string>& stopped = {});

/// A warning where rates step, whose curves this bends; empty: there is none. Signals that step are added to `stepping`.
std::string steps_warning(const core::CorrelationCurves& curves,
                          const std::set<std::string>& stopped, std::set<std::string>& stepping);

}  // namespace tautline::pipeline
