// Short falls of a count rate that return: a shutter that bounces, an obstacle that crosses the beam.
#pragma once

#include <span>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

/// Cells whose rate is below the median of their neighbours by more than the rest of the trace explains, in order of time;
/// docs/maths/autocorrelate.md has the rule. Empty where a twentieth of the cells or more are so: they are no exceptions.
std::vector<StepRange> rate_dips(std::span<const double> rates);

}  // namespace tautline::pipeline
