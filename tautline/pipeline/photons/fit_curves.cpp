#include "tautline/pipeline/photons/fit_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/device.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/fit/curve_points.h"
#include "tautline/pipeline/photons/fit/doubt.h"
#include "tautline/pipeline/photons/fit/start.h"
#include "tautline/pipeline/photons/fit_page.h"
#include "tautline/pipeline/photons/fit_parameters.h"

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
  if (config.model.shape != fit::Shape::two_species_3d) return;
  for (std::size_t k = 1; k <= 3; ++k)
    if (parameters[k].fixed) return;  // the user told them apart
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
    else if (!one.solution.trouble.empty())
      one.status = one.solution.trouble;
    else if (one.unjudged = !result.weighted || !std::isfinite(one.reduced_chi_squared());
             one.unjudged)
      one.status = result.weighted ? "not judged: as many parameters as points"
                                   : "not judged: fitted without standard errors";
    else
      one.status = "ok";
    result.unjudged += one.unjudged ? 1 : 0;
    result.masked += one.masked ? 1 : 0;
    result.hot += one.hot ? 1 : 0;
    result.good += one.good() ? 1 : 0;
  }
  result.failed = result.fits.size() - result.good - result.unjudged - result.masked - result.hot;
}

void add_medians(FitResult& result) {
  const auto over_usable = [&](auto value) {
    std::vector<double> values;
    for (const CurveFit& one : result.fits)
      if (one.good() || one.unjudged) values.push_back(value(one));
    return median(std::move(values));
  };
  for (std::size_t k = 0; k < result.parameters.size(); ++k)
    result.medians[result.parameters[k].name] =
        over_usable([k](const CurveFit& one) { return one.solution.values[k]; });
  result.medians["g0"] = over_usable([](const CurveFit& one) { return one.g0; });
  result.medians["d_um2_per_s"] = over_usable([](const CurveFit& one) { return one.d_um2_per_s; });
  result.medians["reduced_chi2"] = over_usable(
      [&](const CurveFit& one) { return result.weighted ? one.reduced_chi_squared() : kNan; });
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
                fmt::format("lags from {:g} to {:g} s, as the curves have them", c.lag_s.front(),
                            c.lag_s.back()));
}

// Nothing is fitted yet: what the file says of each curve.
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
        "no curves of single segments in the file: errors of parameters take lags as independent, "
        "which they are not (2 to 3 times too small is usual)");
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

// The fits themselves, curve by curve or all together.
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
    std::atomic<std::size_t> independent = 0;  // curves whose segments say nothing
    constexpr std::size_t kChunk = 256;        // between two looks at `stop`
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
          "{} of {} curves were fitted at lags that no segment reaches, or have no error: "
          "errors of their parameters take lags as independent",
          independent.load(), curves_.curves));
  }

  // Each curve alone first, which is where the search for all begins.
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
        result.fits[one.sensor].solution = alone;  // says why
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

  // A curve that noise does not explain is not described by the model; nor are its shortest lags, perhaps.
  void judge(CurveFit& one) const {
    if (!weighted_ || !one.solution.converged || !one.solution.trouble.empty()) return;
    const fit::Points all = points_of(one, config_.lowest_lag_s);
    one.solution.trouble = misfit_of(one.solution, all);
    if (one.solution.trouble.empty()) return;
    // Few lags fit anything, and those in the fall or behind it say little of it: at a tenth of its time g is 0.9 g0.
    constexpr double kBeforeTheFall = 10;
    for (double from = 2 * all.lag_s.front();; from *= 2) {
      const fit::Points points = points_of(one, from);
      if (2 * points.g.size() < all.g.size()) return;
      const fit::Solution solution = best_of(config_, parameters_, points);
      if (!solution.converged || !solution.trouble.empty() ||
          !misfit_of(solution, points).empty() ||
          kBeforeTheFall * points.lag_s.front() > time_of(config_.model, solution))
        continue;
      one.suggested_lowest_lag_s = points.lag_s.front();
      return;
    }
  }

 private:
  fit::Points points_of(const CurveFit& one, double lowest_lag_s) const {
    return fit::points_of(curves_, one.sensor, {lowest_lag_s, config_.highest_lag_s, weighted_});
  }

  // False where segments said nothing of the errors.
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

  // The geometric mean of positive ones.
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

  // Of the whole curve, and of the shortest lags, whose share of the whole would hide what is wrong with them. A limit of
  // the user's is for the whole.
  std::string misfit_of(const fit::Solution& solution, const fit::Points& points) const {
    constexpr std::size_t kFirst = 8;
    const double given = config_.highest_reduced_chi2;
    const auto limit_of = [&](int freedom) {
      return given > 0 ? given : fit::largest_reduced_chi_squared(freedom, curves_.segments);
    };
    const int freedom = solution.degrees_of_freedom;
    if (freedom > 0 && solution.chi_squared > limit_of(freedom) * freedom)
      return fmt::format(
          "the model does not describe the curve: reduced chi-squared {:.3g}, of noise at most "
          "{:.2g}",
          solution.chi_squared / freedom, limit_of(freedom));
    if (given > 0 || points.g.size() < 2 * kFirst) return {};
    double sum = 0;
    for (std::size_t m = 0; m < kFirst; ++m) {
      const double g = fit::evaluate(config_.model, solution.values, points.lag_s[m], {});
      sum += std::pow((g - points.g[m]) / points.standard_error[m], 2);
    }
    if (sum <= limit_of(kFirst) * kFirst) return {};
    return fmt::format(
        "the model does not describe the shortest lags: mean square over noise {:.3g} of the first "
        "{}, of noise at "
        "most {:.2g}",
        sum / kFirst, kFirst, limit_of(kFirst));
  }

  const CorrelationCurves& curves_;
  const FitConfig& config_;
  std::vector<fit::Parameter> parameters_;
  std::vector<bool> shared_;
  bool weighted_, segments_;
};

// Said once for all curves: the middle of what they ask for, where it helps half of those that are not described.
void suggest_range(FitResult& result) {
  std::vector<double> lags;
  std::size_t doubtful = 0;
  for (const CurveFit& one : result.fits) {
    doubtful += !one.masked && !one.solution.trouble.empty() ? 1 : 0;
    if (std::isfinite(one.suggested_lowest_lag_s)) lags.push_back(one.suggested_lowest_lag_s);
  }
  if (lags.empty() || 2 * lags.size() < doubtful) return;
  result.suggested_lowest_lag_s = median(lags);
  result.warnings.push_back(
      fmt::format("the shortest lags spoil the fit of {} of {} curves (afterpulsing, dead time, a "
                  "dark state): from {:.3g} s on "
                  "the model describes them; try `range_s` {:.3g}:",
                  lags.size(), result.fits.size(), result.suggested_lowest_lag_s,
                  result.suggested_lowest_lag_s));
}

}  // namespace

FitResult fit_curves(const CorrelationCurves& given, const FitConfig& config,
                     const FitProgress& progress, std::stop_token stop) {
  const auto started = core::Clock::now();
  core::check(config);
  check(given, config);
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
  for (CurveFit& one : result.fits)
    if (!one.masked) fitter.judge(one);
  suggest_range(result);
  mark_hot(result);
  set_status(result);
  add_medians(result);
  result.elapsed_s = core::seconds_since(started);
  return result;
}

void assume_kappa(FitConfig& config, double kappa) {
  if (config.model.shape != fit::Shape::pixel_2d && !fit::is_scattering(config.model))
    config.starts.emplace("kappa", kappa);
}

namespace {

// Curves that were given twice would count twice in what is shared and in medians.
void refuse_repeated_files(const std::vector<std::string>& paths) {
  std::error_code ignored;
  for (std::size_t k = 0; k < paths.size(); ++k)
    for (std::size_t other = 0; other < k; ++other)
      if (std::filesystem::equivalent(paths[k], paths[other], ignored))
        throw Error(ErrorKind::config, "input",
                    paths[k] == paths[other] ? paths[k] + " twice"
                                             : paths[k] + ", which is " + paths[other],
                    "each file of curves once");
}

// Pairs of curves with the same values at every lag, as a copy of a file has them.
void name_repeated_curves(const CorrelationCurves& c, FitResult& result) {
  const auto g_of = [&](std::size_t k) { return std::span(c.g).subspan(k * c.lags, c.lags); };
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < c.curves; ++k) {
    const auto g = g_of(k);
    if (std::any_of(g.begin(), g.end(), [](double v) { return std::isfinite(v) && v != 0; }))
      order.push_back(k);
  }
  const auto compare = [&](std::size_t a, std::size_t b) {
    return std::memcmp(g_of(a).data(), g_of(b).data(), c.lags * sizeof(double));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
  std::size_t repeated = 0;
  std::string first;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (compare(order[i - 1], order[i]) != 0) continue;
    if (repeated++ == 0)
      first =
          fmt::format("{} and {}", core::label_of(c, order[i - 1]), core::label_of(c, order[i]));
  }
  if (repeated > 0)
    result.warnings.push_back(fmt::format(
        "{} of {} curves repeat another's values at every lag (first: {}): each counts as one of "
        "its own",
        repeated, c.curves, first));
}

}  // namespace

void repeat_stops(const std::vector<std::string>& paths,
                  const std::vector<formats::curves::CurvesFacts>& facts, FitResult& result) {
  for (std::size_t k = 0; k < paths.size(); ++k) {
    if (const std::string stops = noted_stops(facts[k].extra); !stops.empty())
      result.warnings.push_back(
          fmt::format("{}: counts stop, or never change: {}. This bends the curves, unless a lone "
                      "emitter went dark; autocorrelate a part without it",
                      paths[k], stops));
  }
}

FitResult fit_file(const FitConfig& config, const FitProgress& progress, std::stop_token stop) {
  std::vector<std::string> paths{config.input};
  paths.insert(paths.end(), config.more_inputs.begin(), config.more_inputs.end());
  refuse_repeated_files(paths);
  std::vector<formats::curves::CurvesFacts> facts(paths.size() == 1 ? 1 : 0);
  const CorrelationCurves curves = paths.size() == 1
                                       ? formats::curves::read_set(config.input, &facts.front())
                                       : formats::curves::read_sets(paths, &facts);
  // Refused before the work, not after it.
  std::unique_ptr<formats::PartialFile> file;
  if (!config.output.empty())
    file = std::make_unique<formats::PartialFile>(config.output, config.overwrite);
  FitResult result = fit_curves(curves, config, progress, std::move(stop));
  if (paths.size() > 1) name_repeated_curves(curves, result);
  repeat_stops(paths, facts, result);
  if (!config.report.empty())
    report::write_fit_page(config.report, result, curves, config, config.overwrite);
  if (file) {
    file->write(fit_csv(result, curves, config.history));
    file->finish();
  }
  return result;
}

}  // namespace tautline::pipeline
