#include "tautline/pipeline/photons/empty_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/counted.h"

namespace tautline::pipeline {

namespace {

// A sensor that stops more often than this is taken to blink.
constexpr std::size_t kMostStops = 3;
// Requirements on the rest of the run: so many windows show its statistics, and it has this fraction of all steps for
// each stop. Its longest stretch without a count, times this factor, is still shorter than a stop.
constexpr std::size_t kFewestWindows = 16, kOrdinaryPart = 4, kLongerThanRest = 4;
// A run that stops once may have less of a rest, if each of its steps has counts: this fraction of all steps.
constexpr std::size_t kLeastPart = 25;
constexpr double kChance = 1e-12;  // probability of a false alarm in all series together
constexpr double kMargin = 2;      // between the measured and the allowed value
// The same of independent counts: as many standard deviations of a variance as eight windows have in kMargin.
double margin_of_variance(std::size_t windows) {
  return 1 + (kMargin - 1) * std::sqrt(6 / static_cast<double>(windows - 2));
}
// Dark counts: photodiodes and photomultipliers have some tens to hundreds a second.
constexpr double kDarkCounts_hz = 10;

// Maximal runs of steps without a count.
std::vector<StepRange> empty_runs(std::span<const double> counts) {
  std::vector<StepRange> runs;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] != 0) continue;
    if (!runs.empty() && runs.back().end == k)
      ++runs.back().end;
    else
      runs.push_back({k, k + 1});
  }
  return runs;
}

// Sums of windows of `length` steps outside of the stops; both in order.
std::vector<double> window_sums(std::span<const double> counts, std::span<const StepRange> stops,
                                std::size_t length) {
  std::vector<double> sums;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= stops.size(); ++i) {
    const std::size_t end = i < stops.size() ? stops[i].first : counts.size();
    for (; from + length <= end; from += length) {
      double sum = 0;
      for (std::size_t k = from; k < from + length; ++k) sum += counts[k];
      sums.push_back(sum);
    }
    if (i < stops.size()) from = stops[i].end;
  }
  return sums;
}

// Whether every step outside of the stop has counts, and these are no single burst of light.
bool is_lit_elsewhere(std::span<const double> counts, const StepRange& stop) {
  const auto lit = static_cast<std::size_t>(
      std::count_if(counts.begin(), counts.end(), [](double count) { return count > 0; }));
  return lit + stop.steps() == counts.size() && lit * kLeastPart >= counts.size();
}

// Whether chance cannot leave a stretch as short as the shortest of `stops` empty.
bool beyond_chance(std::span<const double> counts, std::span<const StepRange> stops,
                   double needed) {
  std::size_t shortest = counts.size(), ordinary = counts.size();
  for (const StepRange& stop : stops) {
    shortest = std::min(shortest, stop.steps());
    ordinary -= stop.steps();
  }
  // A run that begins late and ends early has one stop at its beginning and one at its end.
  const bool both_ends =
      stops.size() > 1 && stops.front().first == 0 && stops.back().end == counts.size();
  const std::size_t times_stopped = stops.size() - (both_ends ? 1 : 0);
  if (ordinary * kOrdinaryPart < times_stopped * counts.size() &&
      !(stops.size() == 1 && is_lit_elsewhere(counts, stops[0])))
    return false;
  // Counts of a stretch of equal length, at the rate of the quietest long window.
  double in_quietest = 0;
  for (std::size_t length = 1; length <= shortest; length *= 2) {
    const auto windows = window_sums(counts, stops, length);
    if (windows.size() < kFewestWindows) break;
    const double parts = static_cast<double>(shortest) / static_cast<double>(length);
    if (parts * independent_counts(windows) < margin_of_variance(windows.size()) * needed)
      return false;
    in_quietest = parts * *std::min_element(windows.begin(), windows.end());
  }
  return in_quietest >= kMargin * needed;
}

// Comments of CSVs have single quotes in place of double ones; no label has any.
nlohmann::json parse_fact(std::string text) {
  std::ranges::replace(text, '\'', '"');
  return nlohmann::json::parse(text, nullptr, false);
}

std::string who_stopped(const EmptyCounts& one) {
  if (one.names.empty()) return one.sensors == 1 ? "the sensor" : "all sensors";
  std::string who = fmt::format("{}", fmt::join(one.names, ", "));
  if (one.sensors > one.names.size())
    who += fmt::format(" and {} more", one.sensors - one.names.size());
  return who;
}

// Stretches of the same sensors.
struct StretchesOfSome {
  const EmptyCounts* first = nullptr;
  std::uint64_t number = 0, samples = 0;
};

// More often than can be listed.
std::string text_of_repeated(const std::string& who, const StretchesOfSome& some, double bin_s) {
  return fmt::format("{} {}, for {:.6g} s in all, first for {:.6g} s from {:.6g} s", who,
                     core::counted(some.number, "time"), static_cast<double>(some.samples) * bin_s,
                     static_cast<double>(some.first->samples) * bin_s,
                     static_cast<double>(some.first->first_sample) * bin_s);
}

std::string text_of(const std::string& who, const EmptyCounts& one, double bin_s) {
  return fmt::format("{} for {:.6g} s from {:.6g} s", who, static_cast<double>(one.samples) * bin_s,
                     static_cast<double>(one.first_sample) * bin_s);
}

// The first of those that stopped now and then, and of those that did so again and again.
std::string text_of_all(const EmptyCountsFound& found, double bin_s, bool left_out) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::pair<std::string, const EmptyCounts*>> stretches;
  std::map<std::string, StretchesOfSome> of_some;
  std::vector<std::string> order;
  for (const EmptyCounts& one : found.stretches) {
    if (one.left_out != left_out) continue;
    stretches.emplace_back(who_stopped(one), &one);
    StretchesOfSome& some = of_some[stretches.back().first];
    if (some.number++ == 0) {
      some.first = &one;
      order.push_back(stretches.back().first);
    }
    some.samples += one.samples;
  }
  const auto is_repeated = [&](const std::string& who) { return of_some[who].number > kNamed; };
  std::string text;
  std::size_t repeated = 0, named = 0;
  for (const std::string& who : order)
    if (is_repeated(who) && repeated++ < kNamed)
      text += (text.empty() ? "" : "; ") + text_of_repeated(who, of_some[who], bin_s);
  for (const auto& [who, one] : stretches)
    if (!is_repeated(who) && named++ < kNamed)
      text += (text.empty() ? "" : "; ") + text_of(who, *one, bin_s);
  if (named > kNamed || repeated > kNamed) text += "; ...";
  return text;
}

// What stretches in the sums do, and what can be done. Sensors that stop together have no lone emitter in common, and
// between many stops there is no part that is worth to be chosen.
std::string kept_text(const EmptyCountsFound& found) {
  constexpr std::size_t kMany = 6;
  std::size_t kept = 0;
  bool single = false;
  for (const EmptyCounts& one : found.stretches) {
    if (one.left_out) continue;
    ++kept;
    single = single || one.sensors == 1;
  }
  return std::string(". This bends the curves") +
         (single ? ", unless a lone emitter went dark" : "") +
         (kept < kMany ? "; `start_s` and `duration_s` choose a part without it" : "");
}

}  // namespace

void join_ranges(std::vector<BinRange>& ranges) {
  sort_by_time(ranges);
  std::vector<BinRange> joined;
  for (const BinRange& range : ranges)
    if (!joined.empty() && range.first <= joined.back().end)
      joined.back().end = std::max(joined.back().end, range.end);
    else
      joined.push_back(range);
  ranges = std::move(joined);
}

std::vector<StepRange> stopped_steps(std::span<const double> counts, std::size_t series) {
  std::vector<StepRange> runs = empty_runs(counts);
  const std::size_t ranked = std::min(kMostStops + 1, runs.size());
  std::partial_sort(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(ranked), runs.end(),
                    [](const auto& a, const auto& b) { return a.steps() > b.steps(); });
  const double tries = static_cast<double>(counts.size()) * static_cast<double>(series);
  const double needed = std::log(tries / kChance);
  // Keeps the longest ones, up to the largest number.
  for (std::size_t most = std::min(kMostStops, runs.size()); most > 0; --most) {
    if (most < runs.size() && kLongerThanRest * runs[most].steps() > runs[most - 1].steps())
      continue;
    std::vector<StepRange> stops(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(most));
    std::sort(stops.begin(), stops.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    if (beyond_chance(counts, stops, needed)) return stops;
  }
  return {};
}

double independent_counts(std::span<const double> windows) {
  const auto count = static_cast<double>(windows.size());
  double sum = 0, slope = 0, squares = 0;
  for (const double window : windows) sum += window;
  const double mean = sum / count, middle = (count - 1) / 2;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    slope += (static_cast<double>(i) - middle) * (windows[i] - mean);
    squares += (windows[i] - mean) * (windows[i] - mean);
  }
  const double spread = count * (count * count - 1) / 12;  // sum of (i - middle)^2
  const double variance = (squares - slope * slope / spread) / (count - 2);
  return mean * mean / std::max(mean, variance);
}

bool beyond_darkness(double seconds, std::size_t sensors, double probability) {
  return seconds * static_cast<double>(sensors) * kDarkCounts_hz > -std::log(probability);
}

std::vector<StepRange> constant_steps(std::span<const double> counts, std::uint64_t step_samples) {
  constexpr std::size_t kFewestSteps = 50, kFewestSamples = 1000;
  std::vector<StepRange> found;
  const auto step = static_cast<double>(step_samples);
  for (std::size_t k = 0; k < counts.size();) {
    StepRange run{k, k + 1};
    while (run.end < counts.size() && counts[run.end] == counts[k]) ++run.end;
    const bool long_enough =
        run.steps() >= kFewestSteps && run.steps() * step_samples >= kFewestSamples;
    if (long_enough && counts[k] > 0 && std::fmod(counts[k], step) == 0 &&
        run.steps() < counts.size())
      found.push_back(run);
    k = run.end;
  }
  return found;
}

nlohmann::ordered_json empty_stretches(const EmptyCountsFound& found, std::size_t most) {
  auto list = nlohmann::ordered_json::array();
  for (const EmptyCounts& one : found.stretches) {
    if (list.size() == most) break;
    list.push_back({{"sensors", one.sensors},
                    {"names", one.names},
                    {"first_sample", one.first_sample},
                    {"samples", one.samples},
                    {"left_out", one.left_out}});
  }
  return list;
}

std::vector<EmptyCounts> noted_stretches(const std::map<std::string, std::string>& facts) {
  const auto noted = facts.find(kStretchesFact);
  std::vector<EmptyCounts> stretches;
  if (noted == facts.end()) return stretches;
  const nlohmann::json list = parse_fact(noted->second);
  if (!list.is_array()) return stretches;
  for (const auto& one : list) {
    const auto is_number = [&](const char* name) {
      return one.is_object() && one.contains(name) && one.at(name).is_number();
    };
    if (!is_number("sensors") || !is_number("first_sample") || !is_number("samples")) continue;
    EmptyCounts& made = stretches.emplace_back();
    made.sensors = one.at("sensors").get<std::uint64_t>();
    made.first_sample = one.at("first_sample").get<std::int64_t>();
    made.samples = one.at("samples").get<std::uint64_t>();
    if (const auto left_out = one.find("left_out"); left_out != one.end())
      made.left_out = *left_out == true;
    if (const auto names = one.find("names"); names != one.end() && names->is_array())
      for (const auto& name : *names)
        if (name.is_string()) made.names.push_back(name.get<std::string>());
  }
  return stretches;
}

std::string noted_stops(const std::map<std::string, std::string>& facts) {
  const auto stops = facts.find(kStopsFact);
  return stops == facts.end() || stops->second == "none" ? "" : stops->second;
}

std::string stopped_text(const EmptyCountsFound& found) {
  return found.all_stopped ? "all" : nlohmann::json(found.stopped).dump();
}

NotedStopped::NotedStopped(const std::map<std::string, std::string>& facts) {
  const auto noted = facts.find(kStoppedFact);
  if (noted == facts.end()) return;
  all_ = noted->second == "all";
  const nlohmann::json labels = parse_fact(noted->second);
  for (const auto& label : labels.is_array() ? labels : nlohmann::json::array())
    if (label.is_string()) labels_.insert(label.get<std::string>());
}

std::string stops_text(const EmptyCountsFound& found, double bin_s) {
  return text_of_all(found, bin_s, false);
}

std::vector<std::string> empty_warnings(const EmptyCountsFound& found, double bin_s) {
  std::vector<std::string> warnings;
  for (const bool left_out : {true, false}) {
    const std::string text = text_of_all(found, bin_s, left_out);
    if (text.empty()) continue;
    warnings.push_back(left_out ? "where no sensor counts, or none changes, bins are left out: " +
                                      text + "; `keep_constant` keeps them"
                                : "counts stop, or never change: " + text + kept_text(found));
  }
  return warnings;
}

}  // namespace tautline::pipeline
