#include "tautline/pipeline/photons/fit/detector_correction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"

namespace tautline::pipeline::fit {

namespace {

// Above this fraction of dead time, the first order is not accurate.
constexpr double kMostDeadShare = 0.2;

double rate_of(const DetectorCorrection& detector, const core::CorrelationCurves& c,
               std::size_t curve, bool second) {
  const auto& signals = second ? c.second : c.first;
  const double rate = curve < signals.size() ? signals[curve].mean_rate_hz : 0;
  if (!(rate > 0))
    throw core::Error(core::ErrorKind::config,
                      detector.dead_time_s > 0 ? "dead_time_s" : "afterpulsing",
                      "for " + core::label_of(c, curve) + ", whose rate is unknown",
                      "curves with their rates", "fit the .csv or .h5 of autocorrelate");
  return rate;
}

// The fraction of the fluctuations that a detector with this dead time passes: d ln(r) / d ln(r_0) of r = r_0 / (1 +
// r_0 t).
double passed(double rate_hz, double dead_time_s) {
  const double dead = rate_hz * dead_time_s;
  if (dead > kMostDeadShare)
    throw core::Error(
        core::ErrorKind::config, "dead_time_s", fmt::format("{:g} s", dead_time_s),
        fmt::format("at most {:g} s at {:g} counts/s", kMostDeadShare / rate_hz, rate_hz));
  return 1 - dead;
}

// The width of a lag's window: the step to the nearer neighbour.
double window_s(const std::vector<double>& lags, std::size_t l) {
  double width = 0;
  if (l + 1 < lags.size()) width = lags[l + 1] - lags[l];
  if (l > 0) width = width > 0 ? std::min(width, lags[l] - lags[l - 1]) : lags[l] - lags[l - 1];
  return width;
}

// exp(-lag / tau) / tau, averaged over the triangle of two windows.
double delay_density(double lag_s, double window, double tau_s) {
  const double half = window / (2 * tau_s);
  if (lag_s < window) return std::exp(-lag_s / tau_s) / tau_s;
  // (sinh(half) / half)^2, by its logarithm: where the window is long beside tau it overflows.
  const double widened = half > 1e-6 ? half + std::log(-std::expm1(-2 * half) / (2 * half)) : 0;
  return std::exp(-lag_s / tau_s + 2 * widened) / tau_s;
}

}  // namespace

void correct_for_detector(const DetectorCorrection& detector, core::CorrelationCurves& c) {
  if (!detector.any()) return;
  for (std::size_t k = 0; k < c.curves; ++k) {
    if (k < c.mask.size() && c.mask[k] == 0) continue;
    const bool cross = c.cross && k < c.second.size() && !c.second[k].label.empty() &&
                       c.second[k].label != c.first[k].label;
    const double rate = rate_of(detector, c, k, false);
    double height = passed(rate, detector.dead_time_s);
    height *= cross ? passed(rate_of(detector, c, k, true), detector.dead_time_s) : height;
    for (std::size_t l = 0; l < c.lags; ++l) {
      double term = 0;
      if (!cross && detector.afterpulsing > 0 && c.lag_s[l] > 0)
        // Each false pulse may cause another: the sum over generations decays by (1 - p) / tau.
        term = detector.afterpulsing / (1 - detector.afterpulsing) / rate *
               delay_density(c.lag_s[l], window_s(c.lag_s, l),
                             detector.afterpulse_tau_s / (1 - detector.afterpulsing));
      double& g = c.g[k * c.lags + l];
      g = (g - term) / height;
      if (!c.standard_error.empty()) c.standard_error[k * c.lags + l] /= height;
      for (std::size_t s = 0; s < c.segments && !c.segment_g.empty(); ++s) {
        float& one = c.segment_g[(s * c.curves + k) * c.lags + l];
        one = static_cast<float>((one - term) / height);
      }
    }
  }
}

}  // namespace tautline::pipeline::fit
