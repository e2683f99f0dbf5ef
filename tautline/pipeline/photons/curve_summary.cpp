#include "tautline/pipeline/photons/curve_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/pipeline/photons/count_trend.h"
#include "tautline/pipeline/photons/rate_steps.h"

namespace tautline::pipeline {

namespace {

std::string label_of(const formats::CountDescription& description, const MappedSensor& sensor,
                     std::size_t index) {
  if (sensor.row >= 0)
    return "pixel " + std::to_string(sensor.row) + "," + std::to_string(sensor.column);
  if (index < description.labels.size()) return description.labels[index];
  return "sensor " + std::to_string(index);
}

// Sets positions and names; converts bins to seconds.
void name_signal(core::CurveSignal& signal, const formats::CountDescription& description,
                 const SensorMap& map, std::uint32_t sensor, double bin_s) {
  const MappedSensor& mapped = map.sensors()[sensor];
  signal.label = label_of(description, mapped, sensor);
  signal.row = mapped.row;
  signal.column = mapped.column;
  signal.mean_rate_hz /= bin_s;
  for (double& time : signal.trace.time_s) time *= bin_s;
  for (double& rate : signal.trace.rate_khz) rate /= bin_s * 1000;
}

void name_curves(core::CorrelationCurves& curves, const formats::CountDescription& description,
                 const SensorMap& map, double bin_s) {
  curves.bin_s = bin_s;
  curves.duration_s = static_cast<double>(curves.samples) * bin_s;
  curves.lag_s.clear();
  for (const std::uint64_t lag : curves.lag_samples)
    curves.lag_s.push_back(static_cast<double>(lag) * bin_s);
  curves.mask.assign(curves.curves, 1);
  for (std::size_t p = 0; p < curves.curves; ++p) {
    const auto own = static_cast<std::uint32_t>(p);
    const auto pair = map.pairs().empty() ? stages::autocorrelate::Pair{own, own} : map.pairs()[p];
    name_signal(curves.first[p], description, map, pair.a, bin_s);
    if (curves.cross) name_signal(curves.second[p], description, map, pair.b, bin_s);
    if (!map.sensors()[pair.a].good() || !map.sensors()[pair.b].good()) curves.mask[p] = 0;
  }
}

void summarise(const core::CorrelationCurves& curves, const SensorMap& map,
               AutocorrelateSummary& s) {
  s.curves = curves.curves;
  s.lags = curves.lags;
  s.samples = curves.samples;
  s.segments = curves.segments;
  s.sensors = map.sensors().size();
  for (const MappedSensor& sensor : map.sensors()) s.masked += sensor.good() ? 0 : 1;
  for (const std::int64_t count : curves.counts) s.lags_too_long += count == 0 ? 1 : 0;
  // Counts each sensor once, however many pairs it is in.
  std::map<std::uint32_t, double> rates_hz;
  const auto note_rate = [&](std::uint32_t sensor, const core::CurveSignal& signal) {
    if (std::isfinite(signal.mean_rate_hz)) rates_hz[sensor] = signal.mean_rate_hz;
  };
  for (std::size_t p = 0; p < curves.curves; ++p) {
    if (curves.mask[p] == 0) continue;
    const auto own = static_cast<std::uint32_t>(p);
    note_rate(map.pairs().empty() ? own : map.pairs()[p].a, curves.first[p]);
    if (curves.cross) note_rate(map.pairs()[p].b, curves.second[p]);
    const auto g = curves.g.begin() + static_cast<std::ptrdiff_t>(p * curves.lags);
    if (std::all_of(g, g + static_cast<std::ptrdiff_t>(curves.lags),
                    [](double x) { return std::isnan(x); }))
      ++s.undefined;
  }
  for (const auto& [sensor, rate_hz] : rates_hz)
    s.mean_rate_hz += rate_hz / static_cast<double>(rates_hz.size());
  if (s.samples == 0)
    s.warnings.push_back("the input holds no bin at all: every g is undefined (NaN)");
  else if (s.undefined > 0)
    s.warnings.push_back(std::to_string(s.undefined) + " of " + core::counted(s.curves, "curve") +
                         (s.undefined == 1 ? " has no counts: its" : " have no counts: their") +
                         " g is undefined (NaN)");
  if (s.samples > 0 && s.lags_too_long > 0)
    s.warnings.push_back(std::to_string(s.lags_too_long) + " of " + std::to_string(s.lags) +
                         " lags are longer than the data: their counts are 0 and g is NaN; "
                         "fewer `levels` leave them out");
}

// A constant series gives a curve of 0 at every lag, whatever the light was.
void warn_constant(const core::CorrelationCurves& curves, AutocorrelateSummary& s) {
  std::size_t constant = 0;
  if (curves.normalization == core::Normalization::none) return;
  for (std::size_t p = 0; p < curves.curves; ++p) {
    bool any = false, zero = true;
    for (std::size_t l = 0; l < curves.lags; ++l) {
      const double g = curves.g[p * curves.lags + l];
      if (std::isnan(g)) continue;
      any = true;
      zero = zero && g == 0;
    }
    constant += any && zero ? 1 : 0;
  }
  if (constant > 0)
    s.warnings.push_back(std::to_string(constant) + " of " + std::to_string(s.curves) +
                         " curves are of counts that never change: g is 0 at every lag");
}

// With detrending, a lag that fits in the run but in no segment has no g.
void warn_beyond_segments(const core::CorrelationCurves& curves, AutocorrelateSummary& s) {
  std::size_t beyond = 0;
  for (std::size_t l = 0; l < curves.lags; ++l)
    beyond += curves.counts[l] > 0 && curves.lag_samples[l] >= curves.segment_samples;
  if (beyond > 0)
    s.warnings.push_back(std::to_string(beyond) + " of " + std::to_string(s.lags) +
                         " lags are longer than a segment: with `detrend` their g is NaN; fewer "
                         "`segments` or `levels` leave them out");
}

// A sensor that stops has steps and a trend, too, and is named as one that stopped; so is one that steps.
void warn_changes(const core::CorrelationCurves& curves, AutocorrelateSummary& s) {
  if (s.empty.all_stopped) return;
  std::set<std::string> named(s.empty.stopped.begin(), s.empty.stopped.end()), stepping;
  const std::string steps = steps_warning(curves, named, stepping);
  if (!steps.empty()) s.warnings.push_back(steps);
  named.merge(stepping);
  const std::string trend = trend_warning(curves, named);
  if (!trend.empty()) s.warnings.push_back(trend);
}

void add_warnings(const AutocorrelateConfig& config, const core::CorrelationCurves& curves,
                  AutocorrelateSummary& s) {
  warn_constant(curves, s);
  warn_changes(curves, s);
  if (curves.detrended) warn_beyond_segments(curves, s);
  if (config.segments > 1 && curves.standard_error.empty())
    s.warnings.push_back("fewer bins than segments: no standard errors");
  if (config.detrend && !curves.detrended)
    s.warnings.push_back("fewer bins than segments: `detrend` has taken nothing off");
}

// Sensors that stopped together are one entry.
void add_stretches(const CountStream& input, std::vector<SensorStretch> stretches,
                   std::int64_t run_first, std::uint64_t good, EmptyCountsFound& found) {
  constexpr std::size_t kNames = 4;
  const auto place = [](const SensorStretch& s) {
    return std::tuple(s.first_sample, s.samples, s.sensor);
  };
  std::sort(stretches.begin(), stretches.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  const std::vector<MappedSensor>& sensors = input.sensors->sensors();
  const auto label = [&](std::uint32_t s) { return label_of(input.description, sensors[s], s); };
  std::set<std::uint32_t> stopped;
  std::uint64_t last_first = 0, last_samples = 0;  // of no stretch yet
  for (const SensorStretch& one : stretches) {
    if (one.first_sample != last_first || one.samples != last_samples)
      found.stretches.push_back(
          {.names = {},
           .first_sample = static_cast<std::int64_t>(one.first_sample) + run_first,
           .samples = one.samples});
    last_first = one.first_sample, last_samples = one.samples;
    EmptyCounts& entry = found.stretches.back();
    entry.sensors += one.sensor ? 1 : good;
    found.samples += one.samples * (one.sensor ? 1 : good);
    if (one.sensor && entry.names.size() < kNames) entry.names.push_back(label(*one.sensor));
    if (one.sensor)
      stopped.insert(*one.sensor);
    else
      found.all_stopped = true;
  }
  found.all_stopped = found.all_stopped || (good > 0 && stopped.size() == good);
  // Every curve's file repeats the labels.
  constexpr std::size_t kMostLabels = 1000;
  for (const std::uint32_t s : stopped)
    if (found.stopped.size() < kMostLabels) found.stopped.push_back(label(s));
}

// Those found in the file, in place of what the trace shows of the same ones.
void add_single_stops(const CountStream& input, std::uint64_t samples,
                      std::vector<SensorStretch>& stretches) {
  for (const SensorStops& one : input.single_stops) {
    std::erase_if(stretches, [&](const SensorStretch& shown) {
      return shown.sensor == one.sensor &&
             std::ranges::any_of(one.stops, [&](const BinRange& stop) {
               return stop.first < shown.first_sample + shown.samples &&
                      shown.first_sample < stop.end;
             });
    });
    for (const BinRange& stop : one.stops)
      if (stop.first < samples)
        stretches.push_back({one.sensor, stop.first, std::min(stop.end, samples) - stop.first});
  }
}

}  // namespace

EmptyCountsFound name_empty(const CountStream& input, std::uint64_t samples,
                            std::span<const BinRange> stops, std::vector<SensorStretch> stretches,
                            std::int64_t run_first) {
  EmptyCountsFound found;
  const auto sensors = input.sensors->good_sensors();
  const auto good = static_cast<std::uint64_t>(std::count(sensors.begin(), sensors.end(), 1));
  const auto leave_out = [&](std::uint64_t first, std::uint64_t length) {
    if (length == 0) return;
    found.stretches.push_back({.sensors = good,
                               .names = {},
                               .first_sample = static_cast<std::int64_t>(first),
                               .samples = length,
                               .left_out = true});
    found.samples += length * good;
  };
  leave_out(input.first - input.padding.before, input.padding.before);
  for (const BinRange& stop : stops) leave_out(input.first + stop.first, stop.bins());
  leave_out(input.first + samples, input.padding.after);
  for (const BinRange& stop : input.named_stops) {
    found.stretches.push_back({.sensors = good,
                               .names = {},
                               .first_sample = static_cast<std::int64_t>(input.first + stop.first),
                               .samples = stop.bins()});
    found.samples += stop.bins() * good;
    found.all_stopped = true;
    // What the trace shows of it, in whole steps.
    std::erase_if(stretches, [&](const SensorStretch& shown) {
      return shown.first_sample >= stop.first && shown.first_sample + shown.samples <= stop.end;
    });
  }
  add_single_stops(input, samples, stretches);
  add_stretches(input, std::move(stretches), run_first, good, found);
  std::stable_sort(found.stretches.begin(), found.stretches.end(),
                   [](const auto& a, const auto& b) { return a.first_sample < b.first_sample; });
  return found;
}

void describe_curves(const AutocorrelateConfig& config,
                     const formats::CountDescription& description, const SensorMap& map,
                     core::CorrelationCurves& curves, AutocorrelateSummary& summary) {
  name_curves(curves, description, map, summary.bin_s);
  summarise(curves, map, summary);
  add_warnings(config, curves, summary);
  for (std::string& text : empty_warnings(summary.empty, summary.bin_s))
    summary.warnings.push_back(std::move(text));
}

std::map<std::string, std::string> curve_facts(const AutocorrelateConfig& config,
                                               const std::string& input,
                                               const AutocorrelateSummary& s,
                                               const std::string& device) {
  using stages::autocorrelate::Coarsening;
  using stages::autocorrelate::LagScheme;
  const std::string stops = stops_text(s.empty, s.bin_s);
  return {{"device", device},
          {"kernels", s.backend},
          {"input", input},
          {"input_format", s.format},
          {"bin_chosen", s.bin_reason.empty() ? "given" : s.bin_reason},
          {"lags", config.lag_scheme == LagScheme::chain ? "chain" : "standard"},
          {"bins", std::to_string(config.bins)},
          {"levels", std::to_string(config.levels)},
          {"coarsening", config.coarsening == Coarsening::sum     ? "sum"
                         : config.coarsening == Coarsening::first ? "first"
                                                                  : "second"},
          {"segments", std::to_string(config.segments)},
          {"segments_used", std::to_string(s.segments)},
          {"samples", std::to_string(s.samples)},
          {"resumed", config.resume.empty() ? "none" : config.resume},
          {"resumed_samples", std::to_string(s.resumed_samples)},
          {"live", s.live ? "true" : "false"},
          {"interrupted", s.interrupted ? "true" : "false"},
          {"lost_samples", std::to_string(s.damage.lost_samples)},
          {"dropped_samples", std::to_string(s.damage.dropped_samples)},
          {"trailing_bytes", std::to_string(s.damage.trailing_bytes)},
          {"empty_samples", std::to_string(s.empty.samples)},
          {kStretchesFact, empty_stretches(s.empty).dump()},
          {kStopsFact, stops.empty() ? "none" : stops},
          {kStoppedFact, stopped_text(s.empty)},
          {"ignored_photons", std::to_string(s.ignored_photons)}};
}

}  // namespace tautline::pipeline
