#include "tautline/pipeline/plot/stopped.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tautline/core/counted.h"

namespace tautline::pipeline::plot {

namespace {

// Ranges that overlap, or are less than `apart` from each other, are one.
void join(std::vector<std::pair<double, double>>& ranges, double apart) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::pair<double, double>> joined;
  for (const auto& range : ranges)
    if (!joined.empty() && range.first <= joined.back().second + apart)
      joined.back().second = std::max(joined.back().second, range.second);
    else
      joined.push_back(range);
  ranges = std::move(joined);
}

void note_repeated(const RepeatedRanges& one, const std::string& unit,
                   std::vector<std::string>& notes) {
  double length = 0;
  for (const auto& [first, end] : one.ranges) length += end - first;
  notes.push_back(fmt::format("Grey: the counts of {} stop {}{}, for {:.4g} {} in all{}.",
                              one.name.empty() ? "the sensor" : one.name,
                              core::counted(one.ranges.size(), "time"), one.more ? " or more" : "",
                              length, unit, one.more ? " or more" : ""));
}

}  // namespace

std::vector<RepeatedRanges> repeated_ranges(const Stops& stops, std::span<const std::string> names,
                                            double place_s, double first_s,
                                            std::pair<double, double> shown_s, double unit_s) {
  std::vector<RepeatedRanges> found;
  const auto add = [&](const std::string& name, const std::vector<BinRange>& ranges) {
    RepeatedRanges one{name};
    for (const BinRange& range : ranges) {
      const double from = std::max(shown_s.first,
                                   first_s + place_s * static_cast<double>(range.first)),
                   to =
                       std::min(shown_s.second, first_s + place_s * static_cast<double>(range.end));
      if (from < to) one.ranges.emplace_back(from / unit_s, to / unit_s);
    }
    if (!one.ranges.empty()) found.push_back(std::move(one));
  };
  std::vector<BinRange> of_all = stops.left_out;
  of_all.insert(of_all.end(), stops.named.begin(), stops.named.end());
  sort_by_time(of_all);
  add(names.size() == 1 ? names[0] : "all sensors", of_all);
  for (const SensorStops& one : stops.single)
    if (one.stops.size() > kFewStops) add(names[one.sensor], one.stops);
  return found;
}

void mark_stops(std::span<const CountLine> lines, std::span<const RepeatedRanges> repeated,
                formats::figure::Panel& panel, std::vector<std::string>& notes) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  for (const CountLine& line : lines) {
    auto stops = stopped_steps(line.counts, lines.size());
    stops.insert(stops.end(), line.left_out.begin(), line.left_out.end());
    if (stops.empty()) continue;
    names.push_back(line.name.empty() ? "the sensor" : line.name);
    for (const StepRange& stop : stops) {
      panel.empty.emplace_back(line.first + static_cast<double>(stop.first) * line.cell,
                               line.first + static_cast<double>(stop.end) * line.cell);
    }
  }
  std::vector<RepeatedRanges> not_shown(repeated.begin(), repeated.end());
  for (RepeatedRanges& one : not_shown)
    if (one.ranges.size() <= kFewStops)
      std::erase_if(one.ranges, [&](const auto& range) {
        return std::ranges::any_of(panel.empty, [&](const auto& shown) {
          return shown.first < range.second && range.first < shown.second;
        });
      });
  std::erase_if(not_shown, [](const RepeatedRanges& one) { return one.ranges.empty(); });
  for (const RepeatedRanges& one : not_shown)
    panel.empty.insert(panel.empty.end(), one.ranges.begin(), one.ranges.end());
  join(panel.empty, lines.empty() ? 0 : lines.front().cell / 2);
  if (names.size() > kNamed) {
    const std::size_t more = names.size() - kNamed;
    names.resize(kNamed);
    names.back() += fmt::format(" and {} more", more);
  }
  if (!names.empty())
    notes.push_back(fmt::format("Grey: the counts of {} stop.", fmt::join(names, ", ")));
  for (const RepeatedRanges& one : not_shown) note_repeated(one, panel.x.unit, notes);
}

}  // namespace tautline::pipeline::plot
