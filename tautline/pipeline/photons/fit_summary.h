// The summary over all fits of a run: statuses, hot sensors, medians.
#pragma once

#include "tautline/pipeline/photons/fit_curves.h"

namespace tautline::pipeline {

/// Of curves that are fitted and judged: which sensors are hot, the status of each fit, how many there are of each, medians,
/// and a range of lags where that would help.
void summarise(FitResult& result);

/// The status of each fit, how many there are of each, and medians once more: after fits came into doubt.
void count_statuses(FitResult& result);

}  // namespace tautline::pipeline
