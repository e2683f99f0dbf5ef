#include "tautline/pipeline/photons/fit_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit_judge.h"
#include "tautline/pipeline/photons/fit_parameters.h"
#include "tautline/pipeline/photons/fit_search.h"
#include "tautline/pipeline/photons/fit_summary.h"

namespace tautline::pipeline {

namespace {

using core::CorrelationCurves;
using core::Error;
using core::ErrorKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void add_physics(const FitConfig& config, CurveFit& one) {
  const auto& values = one.solution.values;
  const auto& errors = one.solution.standard_errors;
  one.g0 = fit::amplitude(config.model, values);
  one.g0_error = one.g0 * errors[0] / values[0];
  if (fit::is_scattering(config.model)) {
    const double q2 = config.q_per_um * config.q_per_um;
    if (q2 <= 0) return;
    one.d_um2_per_s = values[1] / q2;
    one.d_error = errors[1] / q2;
    return;
  }
  const bool pixel = config.model.shape == fit::Shape::pixel_2d;
  const double length_um = pixel ? config.pixel_um : config.waist_um;
  if (length_um <= 0) return;
  one.d_um2_per_s = length_um * length_um / (4 * values[1]);
  one.d_error = one.d_um2_per_s * errors[1] / values[1];
}

void check(const CorrelationCurves& c, const FitConfig& config) {
  if (c.curves == 0 || c.g.size() != c.curves * c.lags || c.lag_s.size() != c.lags)
    throw Error(ErrorKind::config, "curves", std::to_string(c.curves),
                "one or more, with their lags");
  if (c.normalization == core::Normalization::none)
    throw Error(ErrorKind::config, config.input + ": normalization", "none: g holds sums",
                "symmetric or global", "correlate again with symmetric normalization");
  if (!(config.lowest_lag_s >= 0) || !(config.lowest_lag_s < config.highest_lag_s))
    throw Error(ErrorKind::config, "range_s",
                fmt::format("{:g}:{:g}", config.lowest_lag_s, config.highest_lag_s),
                "a lower lag before the upper one, in seconds");
  const fit::PointRange range{config.lowest_lag_s, config.highest_lag_s, config.weighted};
  if (!c.lag_s.empty() &&
      std::none_of(c.lag_s.begin(), c.lag_s.end(), [&](double lag_s) { return range.has(lag_s); }))
    throw Error(ErrorKind::config, "range_s",
                fmt::format("{:g}:{:g} s", config.lowest_lag_s, config.highest_lag_s),
                fmt::format("some of the curves' {} from {:g} to {:g} s",
                            core::counted(c.lag_s.size(), "lag"), c.lag_s.front(), c.lag_s.back()));
}

// Lengths in the configuration that the model of the curves does not use.
void check_lengths(const FitConfig& config) {
  const bool scattering = fit::is_scattering(config.model);
  const auto refuse = [&](const char* field, double value, const char* models) {
    throw Error(
        ErrorKind::config, field, fmt::format("{:g}", value),
        fmt::format("none with the model {}: it is for {}", fit::name_of(config.model), models),
        "leave it out");
  };
  if (config.q_per_um > 0 && !scattering) refuse("q_per_um", config.q_per_um, "cumulants");
  if (config.waist_um > 0 && scattering) refuse("waist_um", config.waist_um, "a focus");
  const bool pixel = config.model.shape == fit::Shape::pixel_2d;
  if (config.pixel_um > 0 && !pixel) refuse("pixel_um", config.pixel_um, "2d-pixel");
  if (config.waist_um > 0 && pixel && config.pixel_um == 0)
    throw Error(ErrorKind::config, "waist_um", fmt::format("{:g}", config.waist_um),
                "with 2d-pixel `pixel_um` too: the curve depends on their ratio alone",
                "give `pixel_um`");
}

// Fits nothing yet: takes the file's facts of each curve.
FitResult begin_result(const CorrelationCurves& curves, const FitConfig& config) {
  FitResult result;
  result.model = config.model;
  result.parameters = configured_parameters(config);
  result.weighted = config.weighted && !curves.standard_error.empty();
  if (config.weighted && !result.weighted)
    result.warnings.push_back(
        "the curves have no standard errors: all lags weigh the same, and nothing says whether the "
        "model describes them");
  result.from_segments = curves.segments >= 3 &&
                         curves.segment_g.size() == curves.segments * curves.curves * curves.lags;
  if (!result.from_segments)
    result.warnings.push_back(
        std::string(config.more_inputs.empty()
                        ? "no curves of single segments in the file"
                        : "curves of single segments are used where one file is fitted") +
        ": errors of parameters take lags as independent, which they are not (2 to 3 times too "
        "small is usual)");
  result.lag_s =
      fit::lags_with_points(curves, {config.lowest_lag_s, config.highest_lag_s, result.weighted});
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
  return result;
}

// The fits, curve by curve or all together.
class Fitter {
 public:
  Fitter(const CorrelationCurves& curves, const FitConfig& config, const FitResult& result)
      : curves_(curves),
        config_(config),
        parameters_(result.parameters),
        weighted_(result.weighted),
        segments_(result.from_segments) {
    for (const std::string& name : config.shared)
      find_parameter(parameters_, name, "shared");  // throws
    for (const fit::Parameter& p : parameters_)
      shared_.push_back(std::find(config.shared.begin(), config.shared.end(), p.name) !=
                        config.shared.end());
  }

  void fit_each(FitResult& result, const FitProgress& progress, const std::stop_token& stop) const {
    const auto queue = device::open({}, {.threads = config_.threads})->make_queue();
    std::atomic<std::size_t> independent = 0;  // curves whose segments give no errors
    constexpr std::size_t kChunk = 256;        // between two checks of `stop`
    for (std::size_t first = 0; first < curves_.curves; first += kChunk) {
      if (stop.stop_requested())
        throw Error(ErrorKind::io, config_.output, "interrupted", "", "nothing was written");
      const std::size_t last = std::min(first + kChunk, curves_.curves);
      queue->parallel_for(last - first, 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t k = first + begin; k < first + end; ++k)
          if (!result.fits[k].masked) independent += fit_one(result.fits[k]) ? 0 : 1;
      });
      if (progress) progress(static_cast<double>(last) / static_cast<double>(curves_.curves));
    }
    if (independent > 0)
      result.warnings.push_back(fmt::format(
          "{} fitted at lags that no segment reaches, or that have no error: errors of the "
          "parameters take lags as independent",
          curves_.curves == 1
              ? "the curve was"
              : fmt::format("{} of {} curves were", independent.load(), curves_.curves)));
  }

  // Each curve is first fitted alone: the common search begins there.
  void fit_together(FitResult& result) const {
    std::vector<std::size_t> who;
    std::vector<std::vector<fit::Parameter>> starts;
    std::vector<fit::Points> points;
    std::vector<std::vector<std::vector<double>>> deviations;
    for (const CurveFit& one : result.fits) {
      if (one.masked) continue;
      fit::Points own = points_of(one, config_.lowest_lag_s);
      const fit::Solution alone = best_fit(config_, parameters_, own);
      if (!alone.converged) {
        result.fits[one.sensor].solution = alone;  // has the reason
        continue;
      }
      starts.push_back(parameters_);
      for (std::size_t k = 0; k < parameters_.size(); ++k)
        if (!parameters_[k].fixed) starts.back()[k].value = alone.values[k];
      deviations.push_back(fit::deviations_of(curves_, one.sensor, own));
      points.push_back(std::move(own));
      who.push_back(one.sensor);
    }
    if (who.empty()) return;
    start_shared(starts);
    auto solutions = fit::solve_together(config_.model, starts, shared_, points);
    if (segments_ && !fit::use_segments_together(config_.model, parameters_, shared_, points,
                                                 deviations, solutions))
      result.warnings.push_back(
          "some curves have no segments: errors of parameters take lags as independent");
    for (std::size_t k = 0; k < who.size(); ++k)
      finish(result.fits[who[k]], points[k], std::move(solutions[k]));
  }

 private:
  fit::Points points_of(const CurveFit& one, double lowest_lag_s) const {
    return fit::points_of(curves_, one.sensor, {lowest_lag_s, config_.highest_lag_s, weighted_});
  }

  // False where segments gave no errors.
  bool fit_one(CurveFit& one) const {
    const fit::Points points = points_of(one, config_.lowest_lag_s);
    fit::Solution solution = best_fit(config_, parameters_, points);
    order_species(config_, parameters_, solution);
    const bool known =
        !segments_ || fit::use_segments(config_.model, parameters_, points,
                                        fit::deviations_of(curves_, one.sensor, points), solution);
    finish(one, points, std::move(solution));
    return known;
  }

  void finish(CurveFit& one, const fit::Points& points, fit::Solution solution) const {
    one.solution = std::move(solution);
    if (one.solution.converged && one.solution.trouble.empty())
      one.solution.trouble = fit::doubt_of(parameters_, points, one.solution);
    add_physics(config_, one);
  }

  // The geometric mean of positive values.
  void start_shared(std::vector<std::vector<fit::Parameter>>& starts) const {
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      if (!shared_[k] || parameters_[k].fixed) continue;
      double sum = 0;
      for (const auto& start : starts)
        sum += parameters_[k].logarithmic ? std::log(start[k].value) : start[k].value;
      sum /= static_cast<double>(starts.size());
      for (auto& start : starts)
        start[k].value = std::clamp(parameters_[k].logarithmic ? std::exp(sum) : sum,
                                    start[k].lower, start[k].upper);
    }
  }

  const CorrelationCurves& curves_;
  const FitConfig& config_;
  std::vector<fit::Parameter> parameters_;
  std::vector<bool> shared_;
  bool weighted_, segments_;
};

}  // namespace

FitResult fit_curves(const CorrelationCurves& given, const FitConfig& config,
                     const FitProgress& progress, std::stop_token stop,
                     const std::vector<bool>& stopped) {
  const auto started = core::Clock::now();
  core::check(config);
  check(given, config);
  check_lengths(config);
  CorrelationCurves corrected;
  if (config.detector.any()) {
    corrected = given;
    fit::correct_for_detector(config.detector, corrected);
  }
  const CorrelationCurves& curves = config.detector.any() ? corrected : given;
  FitResult result = begin_result(curves, config);
  const Fitter fitter(curves, config, result);
  if (config.shared.empty())
    fitter.fit_each(result, progress, stop);
  else
    fitter.fit_together(result);
  judge_fits(curves, config, stopped, result);
  summarise(result);
  result.elapsed_s = core::seconds_since(started);
  return result;
}

}  // namespace tautline::pipeline
