// Removes the effects of dead time and afterpulses from correlation curves before the fit. docs/maths/fit.md has the
// formulae.
#pragma once

#include "tautline/core/correlation_curve.h"

namespace tautline::pipeline::fit {

struct DetectorCorrection {
  double dead_time_s = 0;  ///< after each pulse, not extended by photons during it
  double afterpulsing =
      0;  ///< probability of a false pulse after each pulse, 0 or more and below 1
  double afterpulse_tau_s = 0;  ///< its mean delay, exponentially distributed
  bool any() const { return dead_time_s > 0 || afterpulsing > 0; }
};

/// Corrects g, standard errors and the curves of segments. The afterpulses' term is subtracted from autocorrelations
/// (cross-correlations of two detectors do not have it); both kinds are scaled up by the height that dead time removes.
/// Throws Error(config) for a curve whose rate is unknown, and where the dead time is not short beside the time between
/// counts.
void correct_for_detector(const DetectorCorrection& detector, core::CorrelationCurves& curves);

}  // namespace tautline::pipeline::fit
