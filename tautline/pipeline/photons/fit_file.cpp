// Fits of the curves in files: the reading and writing around fit_curves().
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/photons/fit_page.h"
#include "tautline/pipeline/photons/fit_summary.h"
#include "tautline/pipeline/photons/rate_steps.h"

namespace tautline::pipeline {

namespace {

using core::CorrelationCurves;
using core::Error;
using core::ErrorKind;

// Curves that were given twice would count twice in shared parameters and medians.
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

// Pairs of curves with equal values at every lag, as in a copied file.
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

// The fits of one file's curves, [first, end), whose labels begin with the file's name. Counts that stop have steps, too.
void doubt_stopped(const CorrelationCurves& curves, std::size_t first, std::size_t end,
                   const std::string& file_name, const NotedStopped& stopped, FitResult& result) {
  for (CurveFit& one : result.fits) {
    if (one.sensor < first || one.sensor >= end || one.masked) continue;
    const std::string label = curves.first[one.sensor].label.substr(file_name.size());
    if (stopped.contains(label) ||
        (curves.cross && stopped.contains(curves.second[one.sensor].label))) {
      std::string& trouble = one.solution.trouble;
      if (trouble.starts_with(kRateStepsTrouble))
        trouble = trouble == kRateStepsTrouble ? "" : trouble.substr(kRateStepsTrouble.size() + 2);
      trouble = "counts stop, which bends the curve" + (trouble.empty() ? "" : "; " + trouble);
    }
  }
}

// Where the first of the curves that are doubted for their steps has these.
void name_steps(const CorrelationCurves& curves, FitResult& result) {
  std::size_t count = 0, first = 0;
  for (const CurveFit& one : result.fits)
    if (!one.masked && one.solution.trouble.starts_with(kRateStepsTrouble) && count++ == 0)
      first = one.sensor;
  if (count == 0) return;
  const std::string steps = steps_text(steps_of_curve(curves, first));
  result.warnings.push_back(
      "the rate of counts steps " +
      (curves.curves == 1 ? steps
                          : fmt::format("in {} of {} curves (first: {}, {})", count, curves.curves,
                                        core::label_of(curves, first), steps)) +
      ". This bends " + (count == 1 ? "the curve" : "the curves") +
      "; autocorrelate a part at one level");
}

}  // namespace

void repeat_stops(const CorrelationCurves& curves, const std::vector<std::string>& paths,
                  const std::vector<formats::curves::CurvesFacts>& facts, FitResult& result) {
  std::size_t first = 0;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const bool several = paths.size() > 1;
    const std::size_t end = several ? first + facts[k].curves : curves.curves;
    doubt_stopped(curves, first, end,
                  several ? std::filesystem::path(paths[k]).stem().string() + ": " : "",
                  NotedStopped(facts[k].extra), result);
    first = end;
    if (const std::string stops = noted_stops(facts[k].extra); !stops.empty())
      result.warnings.push_back(
          fmt::format("{}: counts stop, or never change: {}. This bends the curves, unless a lone "
                      "emitter went dark; autocorrelate a part without it",
                      paths[k], stops));
  }
  name_steps(curves, result);
  count_statuses(result);
}

FitResult fit_file(const FitConfig& config, const FitProgress& progress, std::stop_token stop) {
  std::vector<std::string> paths{config.input};
  paths.insert(paths.end(), config.more_inputs.begin(), config.more_inputs.end());
  refuse_repeated_files(paths);
  std::vector<formats::curves::CurvesFacts> facts(paths.size() == 1 ? 1 : 0);
  const CorrelationCurves curves = paths.size() == 1
                                       ? formats::curves::read_set(config.input, &facts.front())
                                       : formats::curves::read_sets(paths, &facts);
  // Refused before the work.
  std::unique_ptr<formats::PartialFile> file;
  if (!config.output.empty())
    file = std::make_unique<formats::PartialFile>(config.output, config.overwrite);
  FitResult result = fit_curves(curves, config, progress, std::move(stop));
  if (paths.size() > 1) name_repeated_curves(curves, result);
  repeat_stops(curves, paths, facts, result);
  if (file) {
    file->write(fit_csv(result, curves, config.history));
    file->finish();
  }
  // Last: a page that cannot be written leaves a table that is whole.
  if (!config.report.empty())
    report::write_fit_page(config.report, result, curves, config, config.overwrite);
  return result;
}

}  // namespace tautline::pipeline
