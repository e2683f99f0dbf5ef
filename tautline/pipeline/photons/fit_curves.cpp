#include "tautline/pipeline/photons/fit_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/photons/count_trend.h"
#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit/slow_changes.h"
#include "tautline/pipeline/photons/fit/start.h"
#include "tautline/pipeline/photons/fit_parameters.h"
#include "tautline/pipeline/photons/fit_summary.h"
#include "tautline/pipeline/photons/rate_steps.h"

namespace tautline::pipeline {

namespace {

using core::CorrelationCurves;
using core::Error;
using core::ErrorKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Of the times in which a curve falls a run has at least so many, and more where a range of lags is suggested: g is known
// to a third of its height or better.
constexpr double kFewestTimes = 20, kTimesOfSuggestion = 100;
// Detectors and dark states change g at shorter lags alone.
constexpr double kLongestOfDetectors_s = 1e-4;
// The best solution from the starts that the curve's shape suggests.
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
  if (config.model.shape != fit::Shape::two_species_3d) return;
  for (std::size_t k = 1; k <= 3; ++k)
    if (parameters[k].fixed) return;  // the user distinguished the species
  auto& values = solution.values;
  if (!(values[1] > values[2])) return;
  std::swap(values[1], values[2]);
  std::swap(solution.standard_errors[1], solution.standard_errors[2]);
  values[3] = 1 - values[3];
}

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

// The time in which the curve falls: tau_d_s, or 1 / gamma_hz.
double time_of(const fit::Model& model, const fit::Solution& solution) {
  return fit::is_scattering(model) ? 1 / solution.values[1] : solution.values[1];
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

// A drift of the rate: what is left of the curve without its shortest lags may be the drift alone.
std::optional<CountTrend> trend_of_curve(const CorrelationCurves& curves, std::size_t curve) {
  if (curves.detrended) return std::nullopt;
  for (const auto* signals : {&curves.first, &curves.second})
    if (curve < signals->size())
      if (auto trend = trend_of((*signals)[curve].trace.rate_khz);
          trend && trend->standard_errors > kTrendStandardErrors)
        return trend;
  return std::nullopt;
}

std::optional<fit::SlowChange> slow_change_of(const CorrelationCurves& curves, std::size_t curve,
                                              const fit::Model& model,
                                              const fit::Solution& solution) {
  if (curves.detrended || curve >= curves.first.size()) return std::nullopt;
  return fit::slow_change_of(model, solution.values, curves.first[curve].trace,
                             curves.cross && curve < curves.second.size()
                                 ? curves.second[curve].trace
                                 : core::RateTrace());
}

void add_reason(std::string reason, std::string& trouble) {
  trouble = std::move(reason) + (trouble.empty() ? "" : "; " + trouble);
}

// The largest g of these lags that is beyond the noise.
double most_of(const fit::Points& points, double from_s, double before_s) {
  constexpr double kNoise = 3;  // standard errors
  double most = 0;
  for (std::size_t k = 0; k < points.g.size(); ++k)
    if (points.lag_s[k] > from_s && points.lag_s[k] < before_s)
      most = std::max(most, points.g[k] - kNoise * points.standard_error[k]);
  return most;
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
      const fit::Solution alone = best_of(config_, parameters_, own);
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

  void judge(CurveFit& one) const {
    if (!one.solution.converged || !one.solution.trouble.empty()) return;
    const bool changes = one.counts_stop || one.rate_steps;
    const auto trend = trend_of_curve(curves_, one.sensor);
    const fit::Points all = points_of(one, config_.lowest_lag_s);
    if (weighted_) {
      one.highest_reduced_chi2 = limit_of(one, all, one.solution.degrees_of_freedom);
      one.solution.trouble = misfit_of(one, one.solution, all);
    }
    const bool fits = one.solution.trouble.empty();
    if (fits && weighted_) one.solution.trouble = left_out_of(one);
    if (!fits && !changes && !trend) suggest_range(one, all);
    if (!changes && (fits || trend)) judge_changes(one, all, trend);
    // A decay that a run has only a few of is that of a single change.
    if (is_long(one.solution, kFewestTimes))
      add_reason(fmt::format("the curve falls in more than 1/{:g} of the run", kFewestTimes),
                 one.solution.trouble);
  }

 private:
  // A curve beyond the noise limit is not described by the model; perhaps only its shortest lags are not.
  void suggest_range(CurveFit& one, const fit::Points& all) const {
    // Any model fits few lags, and lags in or after the fall determine little: at a tenth of its time g is 0.9 g0.
    constexpr double kBeforeTheFall = 10;
    // Dark states multiply g by less than this, afterpulsing by more, at shorter lags. What is much larger than the rest
    // is the curve, and the rest a drift.
    constexpr double kMostOfDarkStates = 2, kAfterpulsing_s = 1e-5;
    for (double from = 2 * all.lag_s.front(); from <= kLongestOfDetectors_s; from *= 2) {
      const fit::Points points = points_of(one, from);
      if (2 * points.g.size() < all.g.size()) return;
      const fit::Solution solution = best_of(config_, parameters_, points);
      if (!solution.converged || !solution.trouble.empty() ||
          !misfit_of(one, solution, points).empty() ||
          kBeforeTheFall * points.lag_s.front() > time_of(config_.model, solution) ||
          is_long(solution, kTimesOfSuggestion) ||
          slow_change_of(curves_, one.sensor, config_.model, solution) ||
          (points.lag_s.front() > kAfterpulsing_s &&
           kMostOfDarkStates * fit::amplitude(config_.model, solution.values) <
               std::max(one.g0, most_of(all, kAfterpulsing_s, points.lag_s.front()))))
        continue;
      one.suggested_lowest_lag_s = points.lag_s.front();
      one.dips = is_below(all, solution, points.lag_s.front());
      return;
    }
  }

  // Whether the points before `end_s` are below the model by more than noise explains.
  bool is_below(const fit::Points& all, const fit::Solution& solution, double end_s) const {
    constexpr double kBeyondNoise = 4;  // standard deviations
    double sum = 0, count = 0;
    for (std::size_t m = 0; m < all.g.size() && all.lag_s[m] < end_s; ++m, ++count)
      sum += (fit::evaluate(config_.model, solution.values, all.lag_s[m], {}) - all.g[m]) /
             all.standard_error[m];
    return sum > kBeyondNoise * std::sqrt(count);
  }

  // A range that leaves out the curve's own fall: what is left may be a change of the rate, or another species.
  std::string left_out_of(const CurveFit& one) const {
    constexpr double kMuchHigher = 1.5;
    const double height = fit::amplitude(config_.model, one.solution.values);
    const double before = most_of(points_of(one, 0), kLongestOfDetectors_s, config_.lowest_lag_s);
    if (before <= kMuchHigher * height) return {};
    return fmt::format("the curve before the range is {:.2g} times as high as the model",
                       before / height);
  }

  // Whether the run is shorter than so many of the times in which the curve falls.
  bool is_long(const fit::Solution& solution, double times) const {
    return curves_.duration_s > 0 && times * time_of(config_.model, solution) > curves_.duration_s;
  }

  // A change that the model does not explain, and that moves the result by more than its error.
  void judge_changes(CurveFit& one, fit::Points points,
                     const std::optional<CountTrend>& trend) const {
    const auto change = slow_change_of(curves_, one.sensor, config_.model, one.solution);
    if (!change) return;
    fit::Solution with = best_of(config_, parameters_, points);
    for (double& g : points.g) g -= change->added;
    fit::Solution without = best_of(config_, parameters_, points);
    for (fit::Solution* of : {&with, &without})
      if (of->converged) order_species(config_, parameters_, *of);
    const std::string moved = moves(one.solution.standard_errors, with, without);
    if (moved.empty()) return;
    const std::string words =
        trend
            ? fmt::format("{} by {:.2g} % over the run", trend->change < 0 ? "falls" : "rises",
                          100 * std::fabs(trend->change))
            : fmt::format("changes over {:.2g} s by more than the model explains", change->part_s);
    one.slow_changes = fmt::format("the rate {}, which moves {}", words, moved);
    add_reason(one.slow_changes, one.solution.trouble);
  }

  // "n by 12 %, tau_d_s by 40 %": the number or height, and the time, where they differ by more than their errors.
  std::string moves(const std::vector<double>& errors, const fit::Solution& with,
                    const fit::Solution& without) const {
    constexpr double kLeastMove = 0.05;
    if (!with.converged) return {};
    if (!without.converged) return "the result by an unknown amount";
    std::string moved;
    for (std::size_t k = 0; k < 2; ++k) {
      const double move = std::fabs(with.values[k] - without.values[k]);
      if (parameters_[k].fixed || move < kLeastMove * without.values[k] || move < errors[k])
        continue;
      moved += fmt::format("{}{} by {:.2g} %", moved.empty() ? "" : ", ", parameters_[k].name,
                           100 * move / without.values[k]);
    }
    return moved;
  }

  fit::Points points_of(const CurveFit& one, double lowest_lag_s) const {
    return fit::points_of(curves_, one.sensor, {lowest_lag_s, config_.highest_lag_s, weighted_});
  }

  // False where segments gave no errors.
  bool fit_one(CurveFit& one) const {
    const fit::Points points = points_of(one, config_.lowest_lag_s);
    fit::Solution solution = best_of(config_, parameters_, points);
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

  double limit_of(const CurveFit& one, const fit::Points& points, int freedom) const {
    if (config_.highest_reduced_chi2 > 0) return config_.highest_reduced_chi2;
    return fit::largest_reduced_chi_squared(freedom, fit::segments_of(curves_, one.sensor, points));
  }

  // Tests the whole curve, and also its shortest lags, whose misfit the whole curve would hide. A limit of the user's
  // applies to the whole curve.
  std::string misfit_of(const CurveFit& one, const fit::Solution& solution,
                        const fit::Points& points) const {
    constexpr std::size_t kFirst = 8;
    const double given = config_.highest_reduced_chi2;
    const int freedom = solution.degrees_of_freedom;
    if (freedom > 0 && solution.chi_squared > limit_of(one, points, freedom) * freedom)
      return fmt::format(
          "the model does not describe the curve: reduced chi-squared {:.3g}, of noise at most "
          "{:.2g}",
          solution.chi_squared / freedom, limit_of(one, points, freedom));
    if (given > 0 || points.g.size() < 2 * kFirst) return {};
    double sum = 0;
    for (std::size_t m = 0; m < kFirst; ++m) {
      const double g = fit::evaluate(config_.model, solution.values, points.lag_s[m], {});
      sum += std::pow((g - points.g[m]) / points.standard_error[m], 2);
    }
    const double limit = limit_of(one, points, kFirst);
    if (sum <= limit * kFirst) return {};
    return fmt::format(
        "the model does not describe the shortest lags: mean square over noise {:.3g} of the first "
        "{}, of noise at "
        "most {:.2g}",
        sum / kFirst, kFirst, limit);
  }

  const CorrelationCurves& curves_;
  const FitConfig& config_;
  std::vector<fit::Parameter> parameters_;
  std::vector<bool> shared_;
  bool weighted_, segments_;
};

// Stops have steps, too.
void find_changes(const CorrelationCurves& curves, const std::vector<bool>& stopped,
                  FitResult& result) {
  for (CurveFit& one : result.fits) {
    if (one.masked) continue;
    one.counts_stop = one.sensor < stopped.size() && stopped[one.sensor];
    one.rate_steps =
        !one.counts_stop && !curves.detrended && !steps_of_curve(curves, one.sensor).empty();
  }
}

void doubt_changes(FitResult& result) {
  for (CurveFit& one : result.fits)
    if (one.counts_stop)
      add_reason("counts stop, which bends the curve", one.solution.trouble);
    else if (one.rate_steps)
      add_reason("the rate of counts steps, which bends the curve", one.solution.trouble);
}

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
  find_changes(curves, stopped, result);
  for (CurveFit& one : result.fits)
    if (!one.masked) fitter.judge(one);
  doubt_changes(result);
  summarise(result);
  result.elapsed_s = core::seconds_since(started);
  return result;
}

}  // namespace tautline::pipeline
