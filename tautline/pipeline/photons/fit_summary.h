// The summary over all fits of a run: statuses, hot sensors, medians.
#pragma once

#include "tautline/pipeline/photons/fit_result.h"

namespace tautline::pipeline {

/// For fitted and tested curves: hot sensors, the status of each fit, the number of fits of each status, medians, and a
/// suggested range of lags.
void summarise(FitResult& result);

}  // namespace tautline::pipeline
