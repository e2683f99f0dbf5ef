#include "tautline/pipeline/photons/fit/doubt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tautline::pipeline::fit {

namespace {

bool is_time(const Parameter& parameter) {
  return parameter.name.starts_with("tau_") || parameter.name == "gamma_hz";
}

constexpr double kOnceInAThousand = 3.0902;  // standard deviations of the normal distribution

}  // namespace

double chi_squared_beyond(double standard_deviations, double freedom) {
  const double variance = 2 / (9 * freedom);
  return freedom * std::pow(1 - variance + standard_deviations * std::sqrt(variance), 3);
}

std::string doubt_of(const std::vector<Parameter>& parameters, const Points& points,
                     const Solution& solution) {
  std::string doubt;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Parameter& p = parameters[k];
    const double value = solution.values[k];
    if (p.fixed || !p.logarithmic) continue;
    const double time = p.name == "gamma_hz" ? 1 / value : value;
    const bool beyond = is_time(p) && (time > points.lag_s.back() * kFarBeyond ||
                                       time < points.lag_s.front() / kFarBeyond);
    // NaN: reported by the search.
    const bool unknown = solution.standard_errors[k] > value;
    if (!beyond && !unknown) continue;
    if (!doubt.empty()) doubt += "; ";
    doubt += beyond ? fmt::format("{} is far beyond the fitted lags", p.name)
                    : fmt::format("{} is not determined: its error is larger", p.name);
  }
  return doubt;
}

double largest_reduced_chi_squared(int degrees_of_freedom, std::size_t segments) {
  constexpr double kTogether = 2;
  constexpr std::size_t kFewest = 6, kAssumed = 10;
  const auto nu = static_cast<double>((segments < kFewest ? kAssumed : segments) - 1);
  const double mean = nu / (nu - 2);
  const double variance = 3 * nu * nu / ((nu - 2) * (nu - 4)) - mean * mean;
  const double freedom = 2 * mean * mean * std::max(1, degrees_of_freedom) / (variance * kTogether);
  return mean * chi_squared_beyond(kOnceInAThousand, freedom) / freedom;
}

}  // namespace tautline::pipeline::fit
