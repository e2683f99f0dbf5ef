#include "tautline/pipeline/photons/fit_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/device.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit/start.h"
#include "tautline/pipeline/photons/fit_page.h"

namespace tautline::pipeline {

namespace {

using core::CorrelationCurves;
using core::Error;
using core::ErrorKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// A pixel is hot when its rate lies this many robust deviations above the median, and well above
// what brightness varies by across a field of view.
constexpr double kHotDeviations = 8, kHotRatio = 1.5;
constexpr double kDeviationPerMad = 1.4826;  // of a normal distribution

double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return kNan;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

fit::Parameter& find(std::vector<fit::Parameter>& parameters, const std::string& name) {
  std::string names;
  for (fit::Parameter& p : parameters) {
    if (p.name == name) return p;
    names += (names.empty() ? "" : ", ") + p.name;
  }
  throw Error(ErrorKind::config, "fit parameter", name, "one of " + names);
}

std::vector<fit::Parameter> configured(const FitConfig& config) {
  std::vector<fit::Parameter> parameters = fit::parameters_of(config.model);
  if (config.model == fit::Model::pixel_2d && config.waist_um > 0 && config.pixel_um > 0)
    find(parameters, "blur").value = config.waist_um / config.pixel_um;
  for (const std::string& name : config.freed) find(parameters, name).fixed = false;
  for (const auto& [name, limits] : config.bounds) {
    fit::Parameter& p = find(parameters, name);
    std::tie(p.lower, p.upper) = limits;
    p.value = std::clamp(p.value, p.lower, p.upper);
  }
  for (const auto& [name, value] : config.starts) find(parameters, name).value = value;
  for (const auto& [name, value] : config.fixed) {
    fit::Parameter& p = find(parameters, name);
    p.value = value;
    p.fixed = true;
  }
  return parameters;
}

// The points of one curve within the range: defined, and where there are errors, with one.
fit::Points points_of(const CorrelationCurves& c, std::size_t curve, const FitConfig& config,
                      bool weighted) {
  fit::Points points;
  for (std::size_t l = 0; l < c.lags; ++l) {
    const double lag = c.lag_s[l], g = c.g[curve * c.lags + l];
    if (!(lag > 0) || lag < config.lowest_lag_s || lag > config.highest_lag_s || !std::isfinite(g))
      continue;
    const double error = weighted ? c.standard_error[curve * c.lags + l] : 1;
    if (!(error > 0) || !std::isfinite(error)) continue;
    points.lag_s.push_back(lag);
    points.g.push_back(g);
    if (weighted) points.standard_error.push_back(error);
  }
  return points;
}

// Which lags of the file the points are.
std::vector<std::size_t> places_of(const CorrelationCurves& c, const fit::Points& points) {
  std::vector<std::size_t> places;
  for (std::size_t l = 0; l < c.lags && places.size() < points.lag_s.size(); ++l)
    if (c.lag_s[l] == points.lag_s[places.size()]) places.push_back(l);
  return places;
}

// Those of the range that at least one curve has a point at; all of the range where none has.
std::vector<double> lags_with_points(const CorrelationCurves& c, const FitConfig& config,
                                     bool weighted) {
  std::vector<double> all;
  std::vector<std::uint8_t> used(c.lags);
  for (std::size_t k = 0; k < c.curves; ++k) {
    if (k < c.mask.size() && c.mask[k] == 0) continue;
    for (const std::size_t lag : places_of(c, points_of(c, k, config, weighted))) used[lag] = 1;
  }
  const bool none = std::find(used.begin(), used.end(), 1) == used.end();
  for (std::size_t l = 0; l < c.lags; ++l)
    if (c.lag_s[l] > 0 && c.lag_s[l] >= config.lowest_lag_s && c.lag_s[l] <= config.highest_lag_s &&
        (none || used[l] != 0))
      all.push_back(c.lag_s[l]);
  return all;
}

// The best of the starts that the curve's shape suggests.
fit::Solution best_of(const FitConfig& config, const std::vector<fit::Parameter>& parameters,
                      const fit::Points& points) {
  fit::Solution best;
  bool found = false;
  for (const auto& start : fit::starts_of(config.model, parameters, points, config.starts)) {
    fit::Solution one = fit::solve(config.model, start, points);
    const bool better = !found || (one.converged && !best.converged) ||
                        (one.converged == best.converged && one.chi_squared < best.chi_squared);
    if (better) best = std::move(one);
    found = true;
  }
  return best;
}

// The first species is the faster one, so that curves of many sensors can be compared.
void order_species(const FitConfig& config, const std::vector<fit::Parameter>& parameters,
                   fit::Solution& solution) {
  if (config.model != fit::Model::two_species_triplet) return;
  for (std::size_t k = 1; k <= 3; ++k)
    if (parameters[k].fixed) return;  // the user told them apart
  auto& values = solution.values;
  if (!(values[1] > values[2])) return;
  std::swap(values[1], values[2]);
  std::swap(solution.standard_errors[1], solution.standard_errors[2]);
  values[3] = 1 - values[3];
}

// What each segment's curve differs by from their mean, each lag weighed by the segment's share of its
// pairs (docs/maths/fit.md): the first segment has fewer than the others where the lag reaches before
// the run. Files that do not say how many have equal shares. Nothing where a segment has none.
std::vector<std::vector<double>> deviations_of(const CorrelationCurves& c, std::size_t curve,
                                               const fit::Points& points) {
  const bool counted = c.segment_counts.size() == c.segments * c.lags;
  const auto segments = static_cast<double>(c.segments);
  std::vector<std::vector<double>> all(c.segments);
  for (const std::size_t lag : places_of(c, points)) {
    const auto pairs_of = [&](std::size_t k) {
      return counted ? static_cast<double>(c.segment_counts[k * c.lags + lag]) : 1.0;
    };
    const auto g_of = [&](std::size_t k) {
      return static_cast<double>(c.segment_g[(k * c.curves + curve) * c.lags + lag]);
    };
    double pairs = 0, mean = 0;
    for (std::size_t k = 0; k < c.segments; ++k) {
      if (!(pairs_of(k) > 0) || !std::isfinite(g_of(k))) return {};
      pairs += pairs_of(k);
      mean += pairs_of(k) * g_of(k);
    }
    mean /= pairs;
    for (std::size_t k = 0; k < c.segments; ++k)
      all[k].push_back(std::sqrt(segments * pairs_of(k) / pairs) * (g_of(k) - mean));
  }
  return all;
}

void add_physics(const FitConfig& config, CurveFit& one) {
  const auto& values = one.solution.values;
  const auto& errors = one.solution.standard_errors;
  one.g0 = fit::amplitude(config.model, values);
  one.g0_error = one.g0 * errors[0] / values[0];
  const double length_um = config.model == fit::Model::pixel_2d ? config.pixel_um : config.waist_um;
  if (length_um <= 0) return;
  one.d_um2_per_s = length_um * length_um / (4 * values[1]);
  one.d_error = one.d_um2_per_s * errors[1] / values[1];
}

void mark_hot(FitResult& result) {
  std::vector<double> rates, deviations;
  for (const CurveFit& one : result.fits)
    if (!one.masked) rates.push_back(one.rate_hz);
  const double middle = median(rates);
  for (const double rate : rates) deviations.push_back(std::abs(rate - middle));
  const double deviation = kDeviationPerMad * median(deviations);
  if (!(middle > 0) || rates.size() < 4) return;
  const double limit = std::max(middle * kHotRatio, middle + kHotDeviations * deviation);
  for (CurveFit& one : result.fits) one.hot = !one.masked && one.rate_hz > limit;
}

void set_status(FitResult& result) {
  for (CurveFit& one : result.fits) {
    if (one.masked)
      one.status = "masked";
    else if (one.hot)
      one.status = "hot";
    else if (!one.solution.converged)
      one.status = one.solution.trouble.empty() ? "not converged" : one.solution.trouble;
    else
      one.status = one.solution.trouble.empty() ? "ok" : one.solution.trouble;
    result.masked += one.masked ? 1 : 0;
    result.hot += one.hot ? 1 : 0;
    result.good += one.good() ? 1 : 0;
  }
  result.failed = result.fits.size() - result.good - result.masked - result.hot;
}

double reduced_chi_squared(const CurveFit& one) {
  return one.solution.degrees_of_freedom > 0
             ? one.solution.chi_squared / one.solution.degrees_of_freedom
             : kNan;
}

void add_medians(FitResult& result) {
  const auto over_good = [&](auto value) {
    std::vector<double> values;
    for (const CurveFit& one : result.fits)
      if (one.good()) values.push_back(value(one));
    return median(std::move(values));
  };
  for (std::size_t k = 0; k < result.parameters.size(); ++k)
    result.medians[result.parameters[k].name] =
        over_good([k](const CurveFit& one) { return one.solution.values[k]; });
  result.medians["g0"] = over_good([](const CurveFit& one) { return one.g0; });
  result.medians["d_um2_per_s"] = over_good([](const CurveFit& one) { return one.d_um2_per_s; });
  result.medians["reduced_chi2"] = over_good(
      [&](const CurveFit& one) { return result.weighted ? reduced_chi_squared(one) : kNan; });
}

void check(const CorrelationCurves& c, const FitConfig& config) {
  if (c.curves == 0 || c.g.size() != c.curves * c.lags || c.lag_s.size() != c.lags)
    throw Error(ErrorKind::config, "curves", std::to_string(c.curves),
                "one or more, with their lags");
  if (c.normalization == core::Normalization::none)
    throw Error(ErrorKind::config, config.input + ": normalization", "none: g holds sums",
                "symmetric or global", "correlate again with symmetric normalization");
  if (!(config.lowest_lag_s >= 0) || !(config.lowest_lag_s < config.highest_lag_s))
    throw Error(ErrorKind::config, "range",
                fmt::format("{:g}:{:g}", config.lowest_lag_s, config.highest_lag_s),
                "a lower lag before the upper one, in seconds");
  if (config.waist_um < 0 || config.pixel_um < 0)
    throw Error(ErrorKind::config, "waist or pixel", "negative", "micrometres");
}

// As a CSV field: quoted where it must be.
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

FitResult fit_curves(const CorrelationCurves& curves, const FitConfig& config,
                     const FitProgress& progress, std::stop_token stop) {
  const auto started = core::Clock::now();
  core::check(config);
  check(curves, config);
  FitResult result;
  result.model = config.model;
  result.parameters = configured(config);
  result.weighted = config.weighted && !curves.standard_error.empty();
  if (config.weighted && !result.weighted)
    result.warnings.push_back("the curves have no standard errors: all lags weigh the same");
  result.from_segments = curves.segments >= 3 &&
                         curves.segment_g.size() == curves.segments * curves.curves * curves.lags;
  if (!result.from_segments)
    result.warnings.push_back(
        "no curves of single segments in the file: errors of parameters take lags as independent, "
        "which they are not (2 to 3 times too small is usual)");
  result.lag_s = lags_with_points(curves, config, result.weighted);
  result.fits.resize(curves.curves);
  for (std::size_t k = 0; k < curves.curves; ++k) {
    CurveFit& one = result.fits[k];
    one.sensor = k;
    one.masked = k < curves.mask.size() && curves.mask[k] == 0;
    if (k < curves.first.size()) one.rate_hz = curves.first[k].mean_rate_hz;
    one.solution.values.assign(result.parameters.size(), kNan);
    one.solution.standard_errors = one.solution.values;
    one.g0 = one.g0_error = one.solution.chi_squared = kNan;
  }
  const auto queue = device::open({}, {.threads = config.threads})->make_queue();
  std::atomic<std::size_t> independent = 0;  // curves whose segments say nothing
  constexpr std::size_t kChunk = 256;        // between two looks at `stop`
  for (std::size_t first = 0; first < curves.curves; first += kChunk) {
    if (stop.stop_requested())
      throw Error(ErrorKind::io, config.output, "interrupted", "", "nothing was written");
    const std::size_t last = std::min(first + kChunk, curves.curves);
    queue->parallel_for(last - first, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t k = first + begin; k < first + end; ++k) {
        CurveFit& one = result.fits[k];
        if (one.masked) continue;
        const fit::Points points = points_of(curves, k, config, result.weighted);
        one.solution = best_of(config, result.parameters, points);
        order_species(config, result.parameters, one.solution);
        if (result.from_segments &&
            !fit::use_segments(config.model, result.parameters, points,
                               deviations_of(curves, k, points), one.solution))
          ++independent;
        if (one.solution.converged && one.solution.trouble.empty())
          one.solution.trouble = fit::doubt_of(result.parameters, points, one.solution);
        add_physics(config, one);
      }
    });
    if (progress) progress(static_cast<double>(last) / static_cast<double>(curves.curves));
  }
  if (independent > 0)
    result.warnings.push_back(fmt::format(
        "{} of {} curves were fitted at lags that no segment reaches, or have no error: "
        "errors of their parameters take lags as independent",
        independent.load(), curves.curves));
  mark_hot(result);
  set_status(result);
  add_medians(result);
  result.elapsed_s = core::seconds_since(started);
  return result;
}

std::string fit_csv(const FitResult& result, const CorrelationCurves& curves,
                    const std::string& history) {
  std::string text = fmt::format("# {}\n# model {}\n", history, fit::name_of(result.model));
  text += fmt::format("# {} good, {} hot, {} masked, {} doubtful; errors of parameters from {}\n",
                      result.good, result.hot, result.masked, result.failed,
                      result.from_segments ? "the run's segments" : "independent lags");
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
    for (const double value : {result.weighted ? reduced_chi_squared(one) : kNan, one.rate_hz,
                               one.rate_hz / one.solution.values[0]})
      text += "," + number(value);
    text += "\n";
  }
  return text;
}

FitResult fit_file(const FitConfig& config, const FitProgress& progress, std::stop_token stop) {
  const CorrelationCurves curves = formats::curves::read_set(config.input);
  // Refused before the work, not after it.
  std::unique_ptr<formats::PartialFile> file;
  if (!config.output.empty())
    file = std::make_unique<formats::PartialFile>(config.output, config.overwrite);
  FitResult result = fit_curves(curves, config, progress, std::move(stop));
  if (!config.report.empty())
    report::write_fit_page(config.report, result, curves, config, config.overwrite);
  if (file) {
    file->write(fit_csv(result, curves, config.history));
    file->finish();
  }
  return result;
}

}  // namespace tautline::pipeline
