// The table of a fit: one line for each curve.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "tautline/core/curve_label.h"
#include "tautline/pipeline/photons/fit_curves.h"

namespace tautline::pipeline {

namespace {

using core::CorrelationCurves;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// As a CSV field: quoted where necessary.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

}  // namespace

std::string fit_csv(const FitResult& result, const CorrelationCurves& curves,
                    const std::string& history) {
  std::string text = fmt::format("# {}\n# model {}\n", history, fit::name_of(result.model));
  text += fmt::format(
      "# {} good, {} not judged, {} hot, {} masked, {} doubtful; errors of parameters from {}\n",
      result.good, result.unjudged, result.hot, result.masked, result.failed,
      result.from_segments ? "the run's segments" : "independent lags");
  if (!result.lag_s.empty())
    text += fmt::format("# lags {:.9g} {:.9g}\n", result.lag_s.front(), result.lag_s.back());
  text += "sensor,label,row,column,status";
  for (const fit::Parameter& p : result.parameters)
    text += fmt::format(",{},{}_error", p.name, p.name);
  text +=
      ",d_um2_per_s,d_um2_per_s_error,g0,g0_error,chi2,degrees_of_freedom,reduced_chi2,"
      "rate_hz,brightness_hz\n";
  for (const CurveFit& one : result.fits) {
    const core::CurveSignal signal =
        one.sensor < curves.first.size() ? curves.first[one.sensor] : core::CurveSignal{};
    text += fmt::format("{},{},{},{},{}", one.sensor, field(core::label_of(curves, one.sensor)),
                        signal.row, signal.column, field(one.status));
    for (std::size_t k = 0; k < result.parameters.size(); ++k)
      text += "," + number(one.solution.values[k]) + "," + number(one.solution.standard_errors[k]);
    for (const double value :
         {one.d_um2_per_s, one.d_error, one.g0, one.g0_error, one.solution.chi_squared})
      text += "," + number(value);
    text += fmt::format(",{}", one.solution.degrees_of_freedom);
    const double brightness =
        fit::is_scattering(result.model) ? kNoNumber : one.rate_hz / one.solution.values[0];
    for (const double value :
         {result.weighted ? one.reduced_chi_squared() : kNoNumber, one.rate_hz, brightness})
      text += "," + number(value);
    text += "\n";
  }
  return text;
}

}  // namespace tautline::pipeline
