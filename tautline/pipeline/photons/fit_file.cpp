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

// "curves 3 of 40 (first: sensor 1, ...)" of those that `found` is true of; `text`: of the first one.
template <class Found, class Text>
std::string named(const CorrelationCurves& curves, const FitResult& result, const Found& found,
                  const Text& text) {
  std::size_t count = 0;
  const CurveFit* first = nullptr;
  for (const CurveFit& one : result.fits)
    if (!one.masked && found(one) && count++ == 0) first = &one;
  if (count == 0) return {};
  if (curves.curves == 1) return text(*first);
  return fmt::format("in {} of {} curves (first: {}, {})", count, curves.curves,
                     core::label_of(curves, first->sensor), text(*first));
}

void name_steps(const CorrelationCurves& curves, FitResult& result) {
  const std::string steps = named(
      curves, result, [](const CurveFit& one) { return one.rate_steps; },
      [&](const CurveFit& one) { return steps_text(steps_of_curve(curves, one.sensor)); });
  if (!steps.empty())
    result.warnings.push_back("the rate of counts steps " + steps +
                              ". This bends a curve, and may be why a model does not describe it; "
                              "`detrend` of autocorrelate takes most of it off, `start_s` and "
                              "`duration_s` keep a part at one level");
}

void name_slow_changes(const CorrelationCurves& curves, FitResult& result) {
  const std::string changes = named(
      curves, result, [](const CurveFit& one) { return !one.slow_changes.empty(); },
      [](const CurveFit& one) { return one.slow_changes; });
  if (!changes.empty())
    result.warnings.push_back(
        "slow changes of the rate, as of a lamp or where a dye bleaches, bend curves: " + changes +
        ". `tautline plot` of the curve shows them; `detrend` of autocorrelate takes most of them "
        "off, `start_s` and `duration_s` keep a part without them");
}

void name_unlike_parts(const CorrelationCurves& curves, FitResult& result) {
  const std::string parts = named(
      curves, result, [](const CurveFit& one) { return !one.unlike_part.empty(); },
      [](const CurveFit& one) { return one.unlike_part; });
  if (!parts.empty())
    result.warnings.push_back(
        "a bright particle that crosses the focus once, as an aggregate, bends a curve and widens "
        "its errors, so that no chi-squared shows it: " +
        parts +
        ". `start_s` and `duration_s` of autocorrelate choose a part of the run before it or "
        "behind");
}

void name_swings(const CorrelationCurves& curves, FitResult& result) {
  const std::string swings = named(
      curves, result, [](const CurveFit& one) { return !one.swing.empty(); },
      [](const CurveFit& one) { return one.swing; });
  if (!swings.empty())
    result.warnings.push_back(
        "curves have a cosine that no lag damps, which a model takes for "
        "something else: " +
        swings +
        ". Light of the room, a lamp or the supply of a laser may be why; "
        "`range_s` to a tenth of the period leaves most of it out");
}

// Those that are ok by their points alone.
void name_missing_rates(const CorrelationCurves& curves, FitResult& result) {
  const auto ok = static_cast<std::size_t>(
      std::count_if(result.fits.begin(), result.fits.end(), [&](const CurveFit& one) {
        return one.good() && curves.first[one.sensor].trace.rate_khz.empty();
      }));
  if (ok > 0)
    result.warnings.push_back(
        (curves.curves == 1 ? std::string("the curve is ok")
                            : fmt::format("{} of {} curves are ok", ok, curves.curves)) +
        " by its points alone: without the count rate over time nothing tells a slow change of the "
        "rate from diffusion");
}

// The curves of one file, [first, end); labels begin with the file's name where there are several files.
struct CurvesOfFile {
  std::size_t first = 0, end = 0, name_length = 0;
};

std::vector<CurvesOfFile> curves_of_files(const CorrelationCurves& curves,
                                          const std::vector<std::string>& paths,
                                          const std::vector<formats::curves::CurvesFacts>& facts) {
  if (paths.size() == 1) return {{0, curves.curves, 0}};
  std::vector<CurvesOfFile> files;
  for (std::size_t k = 0; k < paths.size(); ++k) {
    const std::size_t first = files.empty() ? 0 : files.back().end;
    files.push_back({first, first + facts[k].curves,
                     (std::filesystem::path(paths[k]).stem().string() + ": ").size()});
  }
  return files;
}

}  // namespace

std::vector<bool> stopped_curves(const CorrelationCurves& curves,
                                 const std::vector<std::string>& paths,
                                 const std::vector<formats::curves::CurvesFacts>& facts) {
  std::vector<bool> all(curves.curves);
  const std::vector<CurvesOfFile> files = curves_of_files(curves, paths, facts);
  for (std::size_t k = 0; k < files.size(); ++k) {
    const NotedStopped stopped(facts[k].extra);
    for (std::size_t p = files[k].first; p < files[k].end; ++p)
      all[p] = stopped.contains(curves.first[p].label.substr(files[k].name_length)) ||
               (curves.cross && stopped.contains(curves.second[p].label));
  }
  return all;
}

void name_changes_of_rates(const CorrelationCurves& curves, const std::vector<std::string>& paths,
                           const std::vector<formats::curves::CurvesFacts>& facts,
                           FitResult& result) {
  for (std::size_t k = 0; k < paths.size(); ++k)
    if (const std::string stops = noted_stops(facts[k].extra); !stops.empty())
      result.warnings.push_back(
          fmt::format("{}: counts stop, or never change: {}. This bends the curves, unless a lone "
                      "emitter went dark; autocorrelate a part without it",
                      paths[k], stops));
  name_steps(curves, result);
  name_slow_changes(curves, result);
  name_unlike_parts(curves, result);
  name_swings(curves, result);
  name_missing_rates(curves, result);
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
  FitResult result =
      fit_curves(curves, config, progress, std::move(stop), stopped_curves(curves, paths, facts));
  if (paths.size() > 1) name_repeated_curves(curves, result);
  name_changes_of_rates(curves, paths, facts, result);
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
