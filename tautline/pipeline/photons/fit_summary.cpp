#include "tautline/pipeline/photons/fit_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tautline::pipeline {

namespace {

constexpr double kNoMedian = std::numeric_limits<double>::quiet_NaN();
// A pixel is hot when its rate is this many robust deviations above the median, and above the variation of brightness
// across a field of view.
constexpr double kHotDeviations = 8, kHotRatio = 1.5;
constexpr double kDeviationPerMad = 1.4826;  // of a normal distribution

double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return kNoMedian;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
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
  result.good = result.unjudged = result.masked = result.hot = 0;
  for (CurveFit& one : result.fits) {
    one.unjudged = false;
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
  // D of a focus decreases with the time. The median of an even number is a mean of two, and would be of other curves
  // than the median of times.
  const bool rising = fit::is_scattering(result.model);
  const double d = over_usable(
      [&](const CurveFit& one) { return rising ? one.d_um2_per_s : 1 / one.d_um2_per_s; });
  result.medians["d_um2_per_s"] = rising ? d : 1 / d;
  result.medians["reduced_chi2"] = over_usable(
      [&](const CurveFit& one) { return result.weighted ? one.reduced_chi_squared() : kNoMedian; });
}

// One suggestion for all curves: the median of theirs, if it helps half of the curves that are not described.
void suggest_range(FitResult& result) {
  std::vector<double> lags;
  std::size_t doubtful = 0, dips = 0;
  for (const CurveFit& one : result.fits) {
    dips += one.dips ? 1 : 0;
    doubtful += !one.masked && !one.solution.trouble.empty() ? 1 : 0;
    if (std::isfinite(one.suggested_lowest_lag_s)) lags.push_back(one.suggested_lowest_lag_s);
  }
  if (lags.empty() || 2 * lags.size() < doubtful) return;
  result.suggested_lowest_lag_s = median(lags);
  const bool one = result.fits.size() == 1;
  const std::string curves =
      one ? "the curve" : fmt::format("{} of {} curves", lags.size(), result.fits.size());
  // Dead time lowers g at all lags, also where a range leaves the dip out.
  if (2 * dips > lags.size())
    result.warnings.push_back(fmt::format(
        "the shortest lags spoil the fit of {}, and are below the model, as dead time of the "
        "detectors makes them: it lowers g at all lags, and a range alone gives too large a number "
        "of particles; give `dead_time_s`, and with it `range_s` {:.3g}:",
        curves, result.suggested_lowest_lag_s));
  else
    result.warnings.push_back(fmt::format(
        "the shortest lags spoil the fit of {} (afterpulsing, dead time, a dark state): from "
        "{:.3g} s on the model describes {}; try `range_s` {:.3g}:",
        curves, result.suggested_lowest_lag_s, one ? "it" : "them", result.suggested_lowest_lag_s));
}

// The one without the part that most curves do not need.
void name_unneeded_part(FitResult& result) {
  std::map<std::string, std::size_t> without;
  for (const CurveFit& one : result.fits)
    if (!one.model_without_part.empty()) ++without[one.model_without_part];
  const auto most =
      std::max_element(without.begin(), without.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == without.end()) return;
  result.warnings.push_back(fmt::format(
      "{} no better with {} than noise makes it: a part that is not there takes the other "
      "parameters along; try `model` {}",
      result.fits.size() == 1
          ? std::string("the curve is described")
          : fmt::format("{} of {} curves are described", most->second, result.fits.size()),
      fit::name_of(result.model), most->first));
}

// One for all curves: the one that helps most of them, if these are half of those that are not described.
void suggest_model(FitResult& result) {
  std::map<std::string, std::size_t> helped;
  std::size_t doubtful = 0;
  for (const CurveFit& one : result.fits) {
    doubtful += !one.masked && !one.solution.trouble.empty() ? 1 : 0;
    if (!one.suggested_model.empty()) ++helped[one.suggested_model];
  }
  const auto most =
      std::max_element(helped.begin(), helped.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == helped.end() || 2 * most->second < doubtful) return;
  const std::string curves = result.fits.size() == 1
                                 ? "the curve"
                                 : fmt::format("{} of {} curves", most->second, result.fits.size());
  result.warnings.push_back(
      fmt::format("a second component may be missing: {} describes {}, {} does not; try `model` {}",
                  most->first, curves, fit::name_of(result.model), most->first));
}

}  // namespace

void summarise(FitResult& result) {
  suggest_range(result);
  suggest_model(result);
  name_unneeded_part(result);
  mark_hot(result);
  set_status(result);
  add_medians(result);
}

}  // namespace tautline::pipeline
