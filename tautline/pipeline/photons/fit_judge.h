// Whether fits of curves are ok, and what may be wrong where they are not.
#pragma once

#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit_config.h"
#include "tautline/pipeline/photons/fit_result.h"

namespace tautline::pipeline {

/// Adds to the curves' fits: changes of their rates, the reasons for doubt, and what may help: a range of lags or
/// another model. `stopped`: stopped_curves().
void judge_fits(const core::CorrelationCurves& curves, const FitConfig& config,
                const std::vector<bool>& stopped, FitResult& result);

}  // namespace tautline::pipeline
