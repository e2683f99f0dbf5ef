#include "tautline/pipeline/plot/stopped.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tautline::pipeline::plot {

namespace {

// Ranges that overlap, or touch, are one.
void join(std::vector<std::pair<double, double>>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<std::pair<double, double>> joined;
  for (const auto& range : ranges)
    if (!joined.empty() && range.first <= joined.back().second)
      joined.back().second = std::max(joined.back().second, range.second);
    else
      joined.push_back(range);
  ranges = std::move(joined);
}

}  // namespace

void mark_stops(std::span<const CountLine> lines, formats::figure::Panel& panel,
                std::vector<std::string>& notes) {
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
  join(panel.empty);
  if (names.size() > kNamed) {
    const std::size_t more = names.size() - kNamed;
    names.resize(kNamed);
    names.back() += fmt::format(" and {} more", more);
  }
  if (!names.empty())
    notes.push_back(fmt::format("Grey: the counts of {} stop.", fmt::join(names, ", ")));
}

}  // namespace tautline::pipeline::plot
