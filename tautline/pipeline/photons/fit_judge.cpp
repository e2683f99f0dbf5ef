#include "tautline/pipeline/photons/fit_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "tautline/pipeline/photons/count_trend.h"
#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit/mains_swing.h"
#include "tautline/pipeline/photons/fit/slow_changes.h"
#include "tautline/pipeline/photons/fit/unlike_segment.h"
#include "tautline/pipeline/photons/fit_parameters.h"
#include "tautline/pipeline/photons/fit_parts.h"
#include "tautline/pipeline/photons/fit_search.h"
#include "tautline/pipeline/photons/rate_steps.h"

namespace tautline::pipeline {

namespace {

using core::CorrelationCurves;

// Of the times in which a curve falls a run has at least so many, and more where a range of lags is suggested: g is known
// to a third of its height or better.
constexpr double kFewestTimes = 20, kTimesOfSuggestion = 100;
// Detectors and dark states change g at shorter lags alone.
constexpr double kLongestOfDetectors_s = 1e-4;

// The time in which the curve falls: tau_d_s, or 1 / gamma_hz.
double time_of(const fit::Model& model, const fit::Solution& solution) {
  return fit::is_scattering(model) ? 1 / solution.values[1] : solution.values[1];
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

// The same with a dark state, and with a second species.
std::vector<fit::Model> with_more(const fit::Model& model) {
  std::vector<fit::Model> all;
  if (!model.triplet && !fit::is_scattering(model))
    all.push_back({model.shape, true, model.afterpulsing});
  if (model.shape == fit::Shape::diffusion_3d)
    all.push_back({fit::Shape::two_species_3d, model.triplet, model.afterpulsing});
  return all;
}

class FitJudge {
 public:
  FitJudge(const CorrelationCurves& curves, const FitConfig& config, const FitResult& result)
      : curves_(curves),
        config_(config),
        parameters_(result.parameters),
        weighted_(result.weighted) {}

  void judge(CurveFit& one) const {
    if (!one.solution.converged) return;
    const fit::Points all = points_of(one, config_.lowest_lag_s);
    if (weighted_) one.swing = swing_of(one, all);
    if (!one.solution.trouble.empty()) {
      if (weighted_) judge_parts(one, all);
      if (!one.swing.empty()) add_reason(one.swing, one.solution.trouble);
      return;
    }
    const bool changes = one.counts_stop || one.rate_steps;
    const auto trend = trend_of_curve(curves_, one.sensor);
    if (weighted_) {
      one.highest_reduced_chi2 = limit_of(one, all, one.solution.degrees_of_freedom);
      one.solution.trouble = misfit_of(one, config_.model, one.solution, all);
    }
    const bool fits = one.solution.trouble.empty();
    if (fits && weighted_) one.solution.trouble = left_out_of(one);
    if (!changes) judge_changes(one, all, trend, fits);
    if (!changes && one.slow_changes.empty()) judge_segments(one, all);
    if (fits && weighted_) judge_parts(one, all);
    judge_dark_time(one, all);
    if (!fits && !changes && !trend && one.slow_changes.empty() && one.swing.empty()) {
      suggest_range(one, all);
      suggest_model(one, all);
    }
    if (!one.swing.empty()) add_reason(one.swing, one.solution.trouble);
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
      const fit::Solution solution = best_fit(config_, parameters_, points);
      if (!solution.converged || !solution.trouble.empty() ||
          !misfit_of(one, config_.model, solution, points).empty() ||
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

  // A second component that describes the curve where one does not.
  void suggest_model(CurveFit& one, const fit::Points& all) const {
    constexpr double kClearly = 2;  // times less chi-squared
    if (std::isfinite(one.suggested_lowest_lag_s)) return;
    double least = one.solution.chi_squared / kClearly;
    for (const fit::Model& model : with_more(config_.model)) {
      FitConfig config = config_;
      config.model = model;
      config.shared.clear();
      const fit::Solution solution = best_fit(config, configured_parameters(config), all);
      if (!solution.converged || !solution.trouble.empty() || !(solution.chi_squared < least) ||
          !misfit_of(one, model, solution, all).empty())
        continue;
      least = solution.chi_squared;
      one.suggested_model = fit::name_of(model);
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

  // A change that the model does not explain, and that moves the result by more than its error; of a curve that the model
  // does not describe, one without which it does.
  void judge_changes(CurveFit& one, fit::Points points, const std::optional<CountTrend>& trend,
                     bool fits) const {
    const auto add = [&](std::string reason) {
      one.slow_changes = std::move(reason);
      add_reason(one.slow_changes, one.solution.trouble);
    };
    const std::string trend_words =
        trend ? fmt::format("{} by {:.2g} % over the run", trend->change < 0 ? "falls" : "rises",
                            100 * std::fabs(trend->change))
              : "";
    const auto change = slow_change_of(curves_, one.sensor, config_.model, one.solution);
    if (!change) {
      if (trend && !fits) add("the rate " + trend_words);
      return;
    }
    fit::Solution with = best_fit(config_, parameters_, points);
    for (double& g : points.g) g -= change->added;
    fit::Solution without = best_fit(config_, parameters_, points);
    for (fit::Solution* of : {&with, &without})
      if (of->converged) order_species(config_, parameters_, *of);
    if (!fits && !trend && !misfit_of(one, config_.model, without, points).empty()) return;
    const std::string moved = moves(one.solution.standard_errors, with, without);
    if (moved.empty()) {
      if (trend && !fits) add("the rate " + trend_words);
      return;
    }
    add(fmt::format("the rate {}, which moves {}",
                    trend ? trend_words
                          : fmt::format("changes over {:.2g} s by more than the model explains",
                                        change->part_s),
                    moved));
  }

  std::string swing_of(const CurveFit& one, const fit::Points& all) const {
    const auto swing = fit::mains_swing(config_.model, one.solution.values, all);
    if (!swing) return {};
    return fmt::format(
        "the light swings with some {:g} Hz by {:.2g} %, as the mains or a scan makes it",
        swing->frequency_hz, 100 * swing->part);
  }

  // A segment without which the result is another by more than the others' errors explain.
  void judge_segments(CurveFit& one, const fit::Points& all) const {
    constexpr double kErrors = 2;
    const auto segment = fit::unlike_segment(curves_, one.sensor, all);
    if (!segment) return;
    const core::CorrelationCurves rest = fit::without_segment(curves_, one.sensor, *segment);
    const fit::Points points =
        fit::points_of(rest, 0, {config_.lowest_lag_s, config_.highest_lag_s, weighted_});
    fit::Solution without = best_fit(config_, parameters_, points);
    order_species(config_, parameters_, without);
    if (without.converged)
      fit::use_segments(config_.model, parameters_, points, fit::deviations_of(rest, 0, points),
                        without);
    std::vector<double> errors = without.standard_errors;
    for (double& error : errors) error *= kErrors;
    const std::string moved = moves(errors, one.solution, without);
    if (moved.empty()) return;
    const double segment_s = curves_.duration_s / static_cast<double>(curves_.segments);
    one.unlike_part =
        fmt::format("the curve of {:.4g} to {:.4g} s is unlike the rest of the run, which moves {}",
                    segment_s * static_cast<double>(*segment),
                    segment_s * static_cast<double>(*segment + 1), moved);
    add_reason(one.unlike_part, one.solution.trouble);
  }

  void judge_parts(CurveFit& one, const fit::Points& all) const {
    const auto part = unneeded_part(config_, parameters_, all, one.solution);
    if (!part) return;
    one.model_without_part = part->model;
    add_reason(fmt::format("the curve does not need {}: {}", part->part, part->why),
               one.solution.trouble);
  }

  // A dark state is told from diffusion, and from the detector, by its time alone.
  void judge_dark_time(CurveFit& one, const fit::Points& all) const {
    constexpr double kShorter = 5;  // times, than the curve's fall
    const auto dark = std::ranges::find(parameters_, "tau_t_s", &fit::Parameter::name);
    if (dark == parameters_.end() || dark->fixed) return;
    const double time_s = one.solution.values[static_cast<std::size_t>(dark - parameters_.begin())];
    if (kShorter * time_s > time_of(config_.model, one.solution))
      add_reason("the dark time is no fifth of that of the fall, from which it is hardly told",
                 one.solution.trouble);
    else if (time_s < all.lag_s.front())
      add_reason("the dark time is shorter than the first lag", one.solution.trouble);
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

  double limit_of(const CurveFit& one, const fit::Points& points, int freedom) const {
    if (config_.highest_reduced_chi2 > 0) return config_.highest_reduced_chi2;
    return fit::largest_reduced_chi_squared(freedom, fit::segments_of(curves_, one.sensor, points));
  }

  // Tests the whole curve, and also its shortest lags, whose misfit the whole curve would hide. A limit of the user's
  // applies to the whole curve.
  std::string misfit_of(const CurveFit& one, const fit::Model& model, const fit::Solution& solution,
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
      const double g = fit::evaluate(model, solution.values, points.lag_s[m], {});
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
  const std::vector<fit::Parameter>& parameters_;
  bool weighted_;
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

void judge_fits(const CorrelationCurves& curves, const FitConfig& config,
                const std::vector<bool>& stopped, FitResult& result) {
  find_changes(curves, stopped, result);
  const FitJudge judge(curves, config, result);
  for (CurveFit& one : result.fits)
    if (!one.masked) judge.judge(one);
  doubt_changes(result);
}

}  // namespace tautline::pipeline
