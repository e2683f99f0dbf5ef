#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>

#include "tautline/core/counted.h"
#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/kinds.h"
#include "tautline/pipeline/plot/stopped.h"
#include "tautline/pipeline/plot/texts.h"

namespace tautline::pipeline::plot {

namespace {

namespace figure = formats::figure;

constexpr std::size_t kMostCurves = 8, kMostTrace = 1000;
constexpr double kMissingStep = 1.5;  // times the trace's step: a step is missing

std::string name_of_curve(const core::CorrelationCurve& curve, std::size_t index) {
  const std::string label = core::label_of(curve);
  return label.empty() ? fmt::format("curve {}", index) : label;
}

figure::Line curve_line(const core::CorrelationCurve& curve, const std::string& name) {
  figure::Line line;
  line.name = name;
  line.style = curve.standard_error.empty() ? figure::Style::line : figure::Style::points;
  for (std::size_t k = 0; k < curve.lag_s.size(); ++k) {
    if (!(curve.lag_s[k] > 0)) continue;
    line.x.push_back(curve.lag_s[k]);
    line.y.push_back(curve.g[k]);
    if (!curve.standard_error.empty()) line.error.push_back(curve.standard_error[k]);
  }
  return line;
}

// The length of most steps; the last one, which may be shorter, does not count.
double step_of(const core::RateTrace& trace) {
  std::vector<double> between;
  for (std::size_t k = 1; k + 1 < trace.time_s.size(); ++k)
    between.push_back(trace.time_s[k] - trace.time_s[k - 1]);
  if (between.empty()) return std::numeric_limits<double>::infinity();
  const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
  std::nth_element(between.begin(), middle, between.end());
  return *middle;
}

// The line ends where steps are missing.
figure::Line trace_line(const core::RateTrace& trace, const std::string& name) {
  figure::Line line;
  line.name = name;
  const std::size_t per =
      std::max<std::size_t>(1, (trace.time_s.size() + kMostTrace - 1) / kMostTrace);
  const double step = step_of(trace);
  for (std::size_t k = 0; k < trace.time_s.size();) {
    double time = 0, rate = 0;
    const std::size_t first = k;
    bool missing = false;
    for (; k < std::min(first + per, trace.time_s.size()) && !missing; ++k) {
      time += trace.time_s[k];
      rate += trace.rate_khz[k];
      missing = k + 1 < trace.time_s.size() &&
                trace.time_s[k + 1] - trace.time_s[k] > kMissingStep * step;
    }
    line.x.push_back(time / static_cast<double>(k - first));
    line.y.push_back(rate / static_cast<double>(k - first));
    if (!missing) continue;
    line.x.push_back(trace.time_s[k - 1] + step);
    line.y.push_back(std::numeric_limits<double>::quiet_NaN());
  }
  return line;
}

// Of steps of equal length, whose times are their middles; steps in stops that were left out are not in the trace. The
// last one, which may be shorter, is left out.
CountLine counts_of(const core::RateTrace& trace, const std::string& name) {
  CountLine line{.name = name, .counts = {}};
  if (trace.time_s.size() < 3) return line;
  line.cell = step_of(trace);
  line.first = trace.time_s[0] - line.cell / 2;
  for (std::size_t k = 0; k + 1 < trace.rate_khz.size(); ++k) {
    constexpr double kMostLeftOut = 1e5;
    const double steps = k == 0 ? 1 : (trace.time_s[k] - trace.time_s[k - 1]) / line.cell;
    if (steps > kMissingStep && steps < kMostLeftOut) {
      const std::size_t first = line.counts.size();
      line.counts.resize(first + static_cast<std::size_t>(std::llround(steps)) - 1);
      line.left_out.push_back({first, line.counts.size()});
    }
    line.counts.push_back(std::round(trace.rate_khz[k] * 1e3 * line.cell));
  }
  return line;
}

double error_of(const figure::Line& line, std::size_t k) {
  return k < line.error.size() && std::isfinite(line.error[k]) ? line.error[k] : 0;
}

// Without the shortest lags where these stand far above all others: shot noise and afterpulses would push the rest to
// the axis.
std::vector<double> without_shot_noise(const std::vector<figure::Line>& lines) {
  constexpr std::size_t kShortest = 3, kEnough = 20;
  std::vector<double> values;
  const auto cut = [](const figure::Line& line) { return line.y.size() > kEnough ? kShortest : 0; };
  for (const figure::Line& line : lines)
    for (std::size_t k = cut(line); k < line.y.size(); ++k) values.push_back(line.y[k]);
  figure::Axis rest;
  figure::fit_axis(rest, values);
  const double reach = 0.5 * (rest.high - rest.low);
  for (const figure::Line& line : lines)
    for (std::size_t k = 0; k < cut(line); ++k)
      if (line.y[k] > rest.low - reach && line.y[k] < rest.high + reach)
        values.push_back(line.y[k]);
  return values;
}

double number_of(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto fact = facts.find(name);
  return fact == facts.end() ? 0 : std::strtod(fact->second.c_str(), nullptr);
}

// Stops of all sensors, and more than a few of the sensors `shown`.
std::vector<RepeatedRanges> repeated_stops_of(const std::map<std::string, std::string>& facts,
                                              double bin_s, const std::vector<std::string>& shown) {
  constexpr std::size_t kMostNoted = 1000;
  const double run_first = number_of(facts, kRunFirstFact);
  if (!(bin_s > 0)) bin_s = number_of(facts, "bin [s]");  // of a CSV
  const std::vector<EmptyCounts> noted = noted_stretches(facts);
  std::map<std::string, RepeatedRanges> by_name;
  for (const EmptyCounts& one : noted) {
    const auto is_shown = [&](const std::string& name) {
      return std::find(shown.begin(), shown.end(), name) != shown.end();
    };
    if (!one.names.empty() && std::none_of(one.names.begin(), one.names.end(), is_shown)) continue;
    const std::string name = !one.names.empty() ? fmt::format("{}", fmt::join(one.names, ", "))
                             : one.sensors == 1 ? std::string()
                                                : "all sensors";
    const double from = std::max(0.0, (static_cast<double>(one.first_sample) - run_first) * bin_s);
    const double to =
        (static_cast<double>(one.first_sample) - run_first + static_cast<double>(one.samples)) *
        bin_s;
    RepeatedRanges& ranges = by_name.try_emplace(name, RepeatedRanges{name}).first->second;
    ranges.of_all = one.names.empty();
    if (from < to) ranges.ranges.emplace_back(from, to);
    ranges.more = noted.size() == kMostNoted;
  }
  std::vector<RepeatedRanges> repeated;
  for (auto& [name, ranges] : by_name)
    if (ranges.ranges.size() > kFewStops || ranges.of_all) repeated.push_back(std::move(ranges));
  return repeated;
}

// The points choose the range, and error bars widen it by a quarter at most: those of a sensor that stopped would
// flatten all other curves.
void fit_curves(figure::Axis& axis, const std::vector<figure::Line>& lines) {
  constexpr double kMostOfBars = 0.25;
  figure::fit_axis(axis, without_shot_noise(lines));
  const double low = axis.low, high = axis.high, reach = kMostOfBars * (high - low);
  for (const figure::Line& line : lines)
    for (std::size_t k = 0; k < line.y.size(); ++k) {
      if (!(line.y[k] >= low && line.y[k] <= high)) continue;
      const double error = error_of(line, k);
      axis.low = std::min(axis.low, std::max(low - reach, line.y[k] - error));
      axis.high = std::max(axis.high, std::min(high + reach, line.y[k] + error));
    }
}

// Points and error bars that lie outside.
void note_outside(const figure::Axis& axis, const std::vector<figure::Line>& lines,
                  std::vector<std::string>& notes) {
  std::size_t points = 0, bars = 0;
  double lowest = axis.low, highest = axis.high;
  for (const figure::Line& line : lines)
    for (std::size_t k = 0; k < line.y.size(); ++k) {
      if (!std::isfinite(line.y[k])) continue;
      const bool outside = line.y[k] < axis.low || line.y[k] > axis.high;
      points += outside ? 1 : 0;
      lowest = std::min(lowest, line.y[k]);
      highest = std::max(highest, line.y[k]);
      const double error = error_of(line, k);
      bars += !outside && (line.y[k] - error < axis.low || line.y[k] + error > axis.high) ? 1 : 0;
    }
  if (points > 0)
    notes.push_back(fmt::format("{} of the shortest lags outside of the picture, {}.",
                                core::counted(points, "point"),
                                lowest < axis.low && highest > axis.high
                                    ? fmt::format("from {:.4g} to {:.4g}", lowest, highest)
                                : lowest < axis.low ? fmt::format("down to {:.4g}", lowest)
                                                    : fmt::format("up to {:.4g}", highest)));
  if (bars > 0)
    notes.push_back(fmt::format("{} longer than the picture shows.",
                                core::counted(bars, "error bar is", "error bars are")));
}

// One rate, those of two, or the range of more.
void add_mean_rates(const std::vector<core::CorrelationCurve>& curves, Figure& made) {
  std::vector<double> all;
  std::unordered_set<std::string> seen;
  const auto add = [&](const core::CurveSignal& signal) {
    if (!std::isfinite(signal.mean_rate_hz) || signal.mean_rate_hz <= 0) return;
    if (!signal.label.empty() && !seen.insert(signal.label).second) return;
    all.push_back(signal.mean_rate_hz);
  };
  for (const core::CorrelationCurve& curve : curves) {
    add(curve.first);
    if (curve.cross) add(curve.second);
  }
  if (all.empty()) return;
  if (all.size() < 3) {
    made.facts.push_back(
        {all.size() == 1 ? "count rate" : "count rates",
         in_hertz(all.front()) + (all.size() == 1 ? "" : " and " + in_hertz(all.back()))});
    return;
  }
  const auto [lowest, highest] = std::minmax_element(all.begin(), all.end());
  made.facts.push_back({"count rates", in_hertz(*lowest) + " to " + in_hertz(*highest)});
}

}  // namespace

figure::Panel rate_panel(const std::vector<core::CorrelationCurve>& curves,
                         const std::map<std::string, std::string>& facts,
                         std::vector<std::string>& notes) {
  figure::Panel panel{"Count rate", axis("time", "s"), axis("count rate", "kHz")};
  std::vector<double> x, y;
  std::vector<std::string> seen;
  std::vector<CountLine> counted;
  const auto add = [&](const core::CurveSignal& signal, const std::string& name) {
    if (signal.trace.time_s.empty() || panel.lines.size() >= kMostCurves) return;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) return;
    seen.push_back(name);
    panel.lines.push_back(trace_line(signal.trace, name));
    counted.push_back(counts_of(signal.trace, name));
    x.insert(x.end(), panel.lines.back().x.begin(), panel.lines.back().x.end());
    y.insert(y.end(), panel.lines.back().y.begin(), panel.lines.back().y.end());
  };
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const auto& one = curves[k];
    add(one.first, one.first.label.empty() ? fmt::format("curve {}", k) : one.first.label);
    if (one.cross)
      add(one.second,
          one.second.label.empty() ? fmt::format("curve {}, second", k) : one.second.label);
  }
  mark_stops(counted, repeated_stops_of(facts, curves.front().bin_s, seen), panel, notes);
  figure::fit_axis(panel.x, x);
  figure::fit_axis(panel.y, y);
  panel.x.low = std::max(0.0, panel.x.low);
  panel.y.low = 0;
  return panel;
}

Figure plot_curves(const PlotConfig& config) {
  const formats::curves::CurveFile file = formats::curves::read(config.input);
  if (file.curves.empty())
    throw core::Error(core::ErrorKind::format, config.input, "no curves", "at least one");
  Figure made =
      figure_of_curves(name_of(config.input), file.curves, file.curves.size(), file.facts);
  made.facts.insert(made.facts.begin(), {"format", file.format});
  return made;
}

Figure figure_of_curves(const std::string& title, const std::vector<core::CorrelationCurve>& curves,
                        std::size_t count, const std::map<std::string, std::string>& facts) {
  const std::size_t shown = std::min(kMostCurves, curves.size());
  Figure made{title};
  made.facts = {{"curves", grouped(count)}};
  if (curves.empty()) return made;
  const core::CorrelationCurve& first = curves.front();
  if (first.duration_s > 0) made.facts.push_back({"length", in_seconds(first.duration_s)});
  if (curves.size() == count) add_mean_rates(curves, made);
  const std::string label = count == 1 ? core::label_of(first) : "";
  const bool sums = first.normalization == core::Normalization::none;
  const std::string what = sums ? "Sums of products" : "Correlation";
  figure::Panel panel{label.empty() ? what : what + " of " + label, axis("lag", "s"),
                      axis(sums ? "sum of products, not normalised" : "G", "")};
  panel.x.scale = figure::Scale::logarithmic;
  panel.tall = true;
  std::vector<double> lags;
  for (std::size_t k = 0; k < shown; ++k) {
    const std::string name = shown > 1 ? name_of_curve(curves[k], k) : "";
    panel.lines.push_back(curve_line(curves[k], name));
    lags.insert(lags.end(), panel.lines.back().x.begin(), panel.lines.back().x.end());
  }
  figure::fit_axis(panel.x, lags);
  fit_curves(panel.y, panel.lines);
  std::vector<std::string> outside;
  note_outside(panel.y, panel.lines, outside);
  made.panels.push_back(std::move(panel));
  figure::Panel trace = rate_panel(curves, facts, made.notes);
  if (!trace.lines.empty()) made.panels.push_back(std::move(trace));
  if (!first.standard_error.empty()) made.notes.push_back("Bars are standard errors.");
  made.notes.insert(made.notes.end(), outside.begin(), outside.end());
  if (sums)
    made.notes.push_back(
        "Sums of products of counts, not G: the counts were correlated without normalisation.");
  if (shown < count)
    made.notes.push_back(fmt::format("The first {} of {} curves.", shown, grouped(count)));
  return made;
}

}  // namespace tautline::pipeline::plot
