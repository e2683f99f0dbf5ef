// Slow changes of the count rate, steps and drifts, that a fitted model does not explain: they raise g at all lags that
// are shorter than they are.
#pragma once

#include <optional>
#include <span>

#include "tautline/core/correlation_curve.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

struct SlowChange {
  double added = 0;   ///< to g
  double part_s = 0;  ///< length of the parts of the run that scatter beyond the model
};

/// The variance of the rate's means over 8, 16, 32 and 64 equal parts of the run, beyond that of noise and of the model
/// with these values (docs/maths/fit.md). Traces of one signal (`second` empty) or of both of a cross-correlation. None
/// where chance explains it, and of traces of fewer than 65 cells.
std::optional<SlowChange> slow_change_of(const Model& model, std::span<const double> values,
                                         const core::RateTrace& first,
                                         const core::RateTrace& second);

/// The variance of the rate's relative mean over `time_s`, without noise: 2/T integral of (1 - t/T) G(t), t from 0 to T.
double variance_of_mean(const Model& model, std::span<const double> values, double time_s);

}  // namespace tautline::pipeline::fit
