#include "tautline/pipeline/photons/fallen_counts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tautline/pipeline/photons/dark_times.h"

namespace tautline::pipeline {

namespace {

// Steps of a window: where none of a run's windows is quiet, quiet times have a mean of less than a step.
constexpr std::size_t kWindow = 10;
// Of the usual counts of a window.
constexpr double kQuietPart = 1.0 / 3;
// Steps are joined, up to this length, until a window has so many counts on average: noise then leaves a window of a stop
// quiet.
constexpr double kCountsOfWindow = 50, kLongestStep_s = 0.001;
constexpr std::uint64_t kStepsOfEnds = 4;  // by which the ends of a stop are uncertain
constexpr std::size_t kMostFalls = 1000, kMostPartOfRun = 10;
// What is usual is told in so many parts of a run, against bleaching, but in no shorter ones.
constexpr std::size_t kLevels = 16;
constexpr double kShortestLevel_s = 0.5;

std::vector<double> sums_of_windows(std::span<const double> counts) {
  std::vector<double> sums(counts.size() - kWindow + 1);
  double sum = std::accumulate(counts.begin(), counts.begin() + kWindow, 0.0);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    sums[k] = sum;
    if (k + kWindow < counts.size()) sum += counts[k + kWindow] - counts[k];
  }
  return sums;
}

// Windows with fewer counts than the limit of their part of the run are quiet.
struct QuietLimits {
  std::size_t windows = 0;
  std::vector<double> of_parts;
  std::size_t first_of(std::size_t part) const { return part * windows / of_parts.size(); }
  double at(std::size_t window) const {
    std::size_t part = 0;
    while (first_of(part + 1) <= window) ++part;
    return of_parts[part];
  }
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of parts that are brighter than most, as where a particle stays in the focus, the limit is that of the run.
QuietLimits limits_of(std::span<const double> sums, double step_s) {
  const double length_s = static_cast<double>(sums.size()) * step_s;
  const auto parts = static_cast<std::size_t>(
      std::clamp(length_s / kShortestLevel_s, 1.0, static_cast<double>(kLevels)));
  QuietLimits limits{sums.size(), std::vector<double>(parts)};
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<double> apart;  // of windows that have no step in common
    for (std::size_t k = limits.first_of(part); k < limits.first_of(part + 1); k += kWindow)
      apart.push_back(sums[k]);
    limits.of_parts[part] = kQuietPart * median_of(std::move(apart));
  }
  const double of_run = median_of(limits.of_parts);
  for (double& limit : limits.of_parts) limit = std::min(limit, of_run);
  return limits;
}

// Of windows, the longest first.
std::vector<BinRange> quiet_stretches(std::span<const double> sums, const QuietLimits& limits) {
  std::vector<BinRange> stretches;
  for (std::size_t part = 0; part < limits.of_parts.size(); ++part) {
    const double limit = limits.of_parts[part];
    for (std::size_t k = limits.first_of(part); k < limits.first_of(part + 1); ++k) {
      if (!(sums[k] < limit)) continue;
      if (stretches.empty() || stretches.back().end < k) stretches.push_back({k, k});
      stretches.back().end = k + 1;
    }
  }
  std::stable_sort(stretches.begin(), stretches.end(),
                   [](const BinRange& a, const BinRange& b) { return a.bins() > b.bins(); });
  return stretches;
}

// The steps of a stretch of windows, without those at its ends that still have light.
StepRange steps_of(const BinRange& windows, std::span<const double> counts,
                   const QuietLimits& limits) {
  StepRange steps{static_cast<std::size_t>(windows.first),
                  static_cast<std::size_t>(windows.end) + kWindow - 1};
  const double limit = limits.at(steps.first) / static_cast<double>(kWindow);
  while (steps.steps() > 1 && counts[steps.first] > limit) ++steps.first;
  while (steps.steps() > 1 && counts[steps.end - 1] > limit) --steps.end;
  return steps;
}

bool overlaps_any(const BinRange& one, std::span<const BinRange> others) {
  return std::ranges::any_of(others, [&](const BinRange& other) {
    return other.first < one.end && one.first < other.end;
  });
}

std::uint64_t length_of(std::span<const BinRange> ranges) {
  std::uint64_t length = 0;
  for (const BinRange& one : ranges) length += one.bins();
  return length;
}

}  // namespace

void add_falls(const CountsOfSteps& run, std::span<const BinRange> known, RepeatedStops& repeated) {
  if (repeated.certain) return;
  std::vector<double> counts(run.counts.begin(), run.counts.end());
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const auto mean = [&] { return total / static_cast<double>(counts.size()); };
  std::uint64_t step = run.step;
  const auto step_s = [&] { return static_cast<double>(step) * run.unit_s; };
  while (counts.size() > 1 && mean() * kWindow < kCountsOfWindow &&
         2 * step_s() <= kLongestStep_s) {
    for (std::size_t k = 0; 2 * k + 1 < counts.size(); ++k)
      counts[k] = counts[2 * k] + counts[2 * k + 1];
    counts.resize(counts.size() / 2);
    step *= 2;
  }
  if (counts.size() < kMostPartOfRun * kWindow) return;
  const std::vector<double> sums = sums_of_windows(counts);
  const QuietLimits limits = limits_of(sums, step_s());
  const auto places_of = [&](std::uint64_t first, std::uint64_t end) {
    return BinRange{run.all.first + first * step, run.all.first + end * step};
  };
  std::vector<BinRange> by_length = quiet_stretches(sums, limits);
  if (!known.empty())
    std::erase_if(by_length, [&](const BinRange& windows) {
      return overlaps_any(places_of(windows.first, windows.end + kWindow - 1), known);
    });
  const double fewest = std::ceil(kShortestCertainStop_s / step_s());
  const std::size_t falls =
      beyond_others(by_length, 1,
                    {.most = kMostFalls,
                     .shortest = static_cast<std::uint64_t>(std::max(1.0, fewest - kWindow + 1)),
                     .total = sums.size() / kMostPartOfRun});
  std::vector<BinRange> found;
  for (std::size_t k = 0; k < falls; ++k) {
    const StepRange steps = steps_of(by_length[k], counts, limits);
    found.push_back(places_of(steps.first, steps.end));
  }
  // Stops without a count are known better; with some, these are parts of a stop alone.
  const std::uint64_t length = length_of(found), without = length_of(repeated.stops);
  const bool alike = falls == repeated.stops.size() && 4 * length <= 5 * without;
  if (falls == 0 || alike || length + falls * kStepsOfEnds * step < without) return;
  repeated = {.stops = std::move(found), .dark_counts = true};
  sort_by_time(repeated.stops);
}

void leave_falls_to_sensors(Stops& stops) {
  if (!stops.dark_counts) return;
  std::erase_if(stops.named, [&](const BinRange& fall) {
    return std::ranges::any_of(
        stops.single, [&](const SensorStops& sensor) { return overlaps_any(fall, sensor.stops); });
  });
}

}  // namespace tautline::pipeline
