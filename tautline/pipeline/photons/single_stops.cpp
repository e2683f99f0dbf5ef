#include "tautline/pipeline/photons/single_stops.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tautline::pipeline {

namespace {

// Gaps between counts in whole steps are up to two steps shorter than they are: of so many steps, one of a quarter
// looks shorter than half.
constexpr std::uint64_t kFewestSteps = 8;
// Of the shortest stop, s: a dark count between s / 4 and s behind a stop's begin would leave a stretch of such a length.
constexpr double kPartWithoutDarkCount = 0.75;

}  // namespace

std::vector<BinRange> single_stops(const CountsOfSteps& run, const LongestGaps& gaps,
                                   std::span<const BinRange> known) {
  CountsOfSteps one = run;
  one.sensors = 1;
  RepeatedStops found = repeated_stops(one, gaps, known);
  std::size_t number = 0;
  std::uint64_t shortest = run.all.bins();
  for (const BinRange& stop : found.stops) {
    // Not what is before the first count and behind the last.
    if (stop.first < run.counted.first || stop.end > run.counted.end) continue;
    ++number;
    shortest = std::min(shortest, stop.bins());
  }
  const double without_count_s = kPartWithoutDarkCount * static_cast<double>(number) *
                                 static_cast<double>(shortest) * run.unit_s;
  if (!found.alike && !beyond_darkness(without_count_s, 1)) return {};
  return std::move(found.stops);
}

std::vector<StepRange> single_stops(std::span<const double> counts, double step_s) {
  LongestGaps gaps(1);
  BinRange counted{counts.size(), counts.size()};
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) continue;
    if (counted.first == counts.size())
      counted.first = k;
    else
      gaps.add(counted.end, k);
    counted.end = k + 1;
  }
  if (!may_be_repeated(counted, step_s, gaps, {})) return {};
  const auto found = single_stops({.counts = counts,
                                   .step = 1,
                                   .all = {0, counts.size()},
                                   .counted = counted,
                                   .unit_s = step_s,
                                   .sensors = 1},
                                  gaps, {});
  std::vector<StepRange> stops;
  for (const BinRange& stop : found) {
    if (stop.bins() < kFewestSteps && stop.first >= counted.first && stop.end <= counted.end)
      return {};
    stops.push_back({static_cast<std::size_t>(stop.first), static_cast<std::size_t>(stop.end)});
  }
  return stops;
}

}  // namespace tautline::pipeline
