#include "tautline/pipeline/photons/fit/doubt.h"

#include <fmt/format.h>

namespace tautline::pipeline::fit {

namespace {

bool is_time(const Parameter& parameter) {
  return parameter.name.starts_with("tau_");
}

}  // namespace

std::string doubt_of(const std::vector<Parameter>& parameters, const Points& points,
                     const Solution& solution) {
  std::string doubt;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Parameter& p = parameters[k];
    const double value = solution.values[k];
    if (p.fixed || !p.logarithmic) continue;
    const bool beyond = is_time(p) && (value > points.lag_s.back() * kFarBeyond ||
                                       value < points.lag_s.front() / kFarBeyond);
    // NaN: the search has said so.
    const bool unknown = solution.standard_errors[k] > value;
    if (!beyond && !unknown) continue;
    if (!doubt.empty()) doubt += "; ";
    doubt += beyond ? fmt::format("{} is far beyond the fitted lags", p.name)
                    : fmt::format("{} is not determined: its error is larger", p.name);
  }
  return doubt;
}

}  // namespace tautline::pipeline::fit
