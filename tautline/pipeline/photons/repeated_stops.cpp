#include "tautline/pipeline/photons/repeated_stops.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

namespace tautline::pipeline {

namespace {

// Fewer are for stopped_steps(). Any other stretch without a count, times kLongerThanRest, is still shorter than a stop.
constexpr std::size_t kFewestStops = 4, kLongerThanRest = 4;
constexpr std::size_t kFewestWindows = 8;
constexpr double kChance = 1e-12, kMargin = 2;
// Stops of one length: so many at least, the longest by no more than this longer than the shortest, as far as bins tell.
constexpr std::size_t kFewestAlike = 10;
constexpr double kAlike = 1.25;
constexpr std::uint64_t kRounding = 2, kFewestBinsAlike = 8;
// Ten or more of one length need less distance from the rest, if they have bins enough that kRounding adds little: of
// exponentially distributed times that happens with probability 3e-8.
constexpr std::size_t kAlikeLongerThanRest = 2;
constexpr std::uint64_t kManyBinsAlike = 32;
// Few stops: so many at most, this part of the run at most; and the expected number of dark times that are so long.
constexpr std::size_t kMostFewStops = 50;
constexpr std::uint64_t kMostPartOfFew = 10;
constexpr double kChanceOfFew = 1e-6;

bool overlap(const BinRange& a, const BinRange& b) {
  return a.first < b.end && b.first < a.end;
}

// How much of `part` these ranges, which do not overlap, have.
std::uint64_t sum_inside(std::span<const BinRange> ranges, const BinRange& part) {
  std::uint64_t sum = 0;
  for (const BinRange& range : ranges)
    if (overlap(range, part))
      sum += std::min(range.end, part.end) - std::max(range.first, part.first);
  return sum;
}

// Counts of the steps, as of whole ones: those that stops take more than half of have none.
std::vector<double> counts_beside(const CountsOfSteps& run, std::span<const BinRange> stops) {
  std::vector<double> counts;
  auto stop = stops.begin();
  for (std::size_t k = 0; k < run.counts.size(); ++k) {
    const BinRange step{std::max(run.counted.first, run.all.first + k * run.step),
                        std::min(run.counted.end, run.all.first + (k + 1) * run.step)};
    if (step.first >= step.end) continue;
    std::uint64_t left = step.bins();
    while (stop != stops.end() && stop->end <= step.first) ++stop;
    for (auto one = stop; one != stops.end() && one->first < step.end; ++one)
      left -= std::min(one->end, step.end) - std::max(one->first, step.first);
    if (2 * left >= run.step)
      counts.push_back(run.counts[k] * static_cast<double>(run.step) / static_cast<double>(left));
  }
  return counts;
}

// Whether chance does not leave stretches as many as `stops`, each as long as `shortest`, without a count.
bool beyond_chance(const CountsOfSteps& run, std::vector<BinRange> stops, double shortest) {
  const auto needed = [&](double independent) {
    // A stretch is empty with probability exp(-independent) at each of so many places.
    const double places =
        static_cast<double>(run.counted.bins()) / shortest * std::max(1.0, independent);
    return kMargin * (std::log(places) - std::log(kChance) / static_cast<double>(stops.size()));
  };
  // The quietest part of the rest has the mean of it at most, or twice that where steps without much rest are left out.
  const double total = std::accumulate(run.counts.begin(), run.counts.end(), 0.0);
  const auto rest = static_cast<double>(run.counted.bins() - sum_inside(stops, run.counted));
  if (2 * total * shortest < needed(0) * rest) return false;
  sort_by_time(stops);
  const std::vector<double> counts = counts_beside(run, stops);
  const auto step = static_cast<double>(run.step);
  double independent = 0, quietest = 0;
  for (std::size_t length = 1;; length *= 2) {
    if (length > 1 && static_cast<double>(length) * step > shortest) break;
    std::vector<double> windows;
    for (std::size_t k = 0; k + length <= counts.size(); k += length) {
      double sum = 0;
      for (std::size_t i = k; i < k + length; ++i) sum += counts[i];
      windows.push_back(sum);
    }
    if (windows.size() < kFewestWindows) break;
    const double parts = shortest / (static_cast<double>(length) * step);
    const double here = parts * independent_counts(windows);
    independent = length == 1 ? here : std::min(independent, here);
    quietest = parts * *std::min_element(windows.begin(), windows.end());
  }
  return std::min(independent, quietest) >= needed(independent);
}

// Where the run begins or ends without a count: a whole stop, or a part of one.
std::vector<BinRange> edges_of(const CountsOfSteps& run) {
  std::vector<BinRange> edges;
  for (const BinRange& edge :
       {BinRange{run.all.first, run.counted.first}, BinRange{run.counted.end, run.all.end}})
    if (edge.first < edge.end) edges.push_back(edge);
  return edges;
}

bool is_alike(std::uint64_t shortest, std::uint64_t longest) {
  return static_cast<double>(longest) <=
         kAlike * static_cast<double>(shortest) + static_cast<double>(kRounding);
}

// Whether the first `most` stand out from the rest: the length of the shortest of them, or none.
std::optional<std::uint64_t> outstanding(const std::vector<BinRange>& by_length, std::size_t most,
                                         const LongestGaps& gaps, double unit_s,
                                         double shortest_s) {
  const std::uint64_t shortest = by_length[most - 1].bins();
  const std::uint64_t next = most < by_length.size() ? by_length[most].bins() : gaps.least() - 1;
  const bool alike = most >= kFewestAlike && shortest >= kManyBinsAlike &&
                     is_alike(shortest, by_length.front().bins());
  const std::size_t longer_than_rest = alike ? kAlikeLongerThanRest : kLongerThanRest;
  if (longer_than_rest * next > shortest || static_cast<double>(shortest) * unit_s < shortest_s)
    return std::nullopt;
  return shortest;
}

// The gaps between the first count and the last that are in no known stop, the longest first.
std::vector<BinRange> longest_first(const BinRange& counted, const LongestGaps& gaps,
                                    std::span<const BinRange> known) {
  std::vector<BinRange> by_length;
  for (const BinRange& gap : gaps.gaps())
    if (gap.first > counted.first && gap.end < counted.end &&
        std::none_of(known.begin(), known.end(),
                     [&](const BinRange& one) { return overlap(one, gap); }))
      by_length.push_back(gap);
  std::sort(by_length.begin(), by_length.end(),
            [](const BinRange& a, const BinRange& b) { return a.bins() > b.bins(); });
  return by_length;
}

// Of `shortest_s` or more; `by_length`: gaps outside of known stops, the longest first.
RepeatedStops stops_among(const std::vector<BinRange>& by_length, double shortest_s,
                          const CountsOfSteps& run, const LongestGaps& gaps,
                          std::span<const BinRange> known) {
  const std::vector<BinRange> edges = edges_of(run);
  for (std::size_t most = by_length.size(); most >= kFewestStops; --most) {
    const auto found_shortest = outstanding(by_length, most, gaps, run.unit_s, shortest_s);
    if (!found_shortest) continue;
    const std::uint64_t shortest = *found_shortest;
    const std::span longest_ones = std::span(by_length).first(most);
    if (2 * sum_inside(longest_ones, run.counted) >
        run.counted.bins() - sum_inside(known, run.counted))
      continue;
    std::vector<BinRange> all(longest_ones.begin(), longest_ones.end());
    all.insert(all.end(), known.begin(), known.end());
    const std::uint64_t longest = by_length.front().bins();
    // A stop that begins with the run, or ends with it, may be as long as the others.
    const auto whole =
        static_cast<std::size_t>(std::ranges::count_if(edges, [&](const BinRange& edge) {
          return is_alike(edge.bins(), longest) && is_alike(shortest, edge.bins());
        }));
    const bool alike =
        most + whole >= kFewestAlike && shortest >= kFewestBinsAlike && is_alike(shortest, longest);
    const bool likely = !beyond_chance(run, std::move(all), static_cast<double>(shortest));
    // However the light flickers, chance does not make them of one length.
    if (likely && !alike) continue;
    RepeatedStops found{{longest_ones.begin(), longest_ones.end()}, false, alike};
    sort_by_time(found.stops);
    const double seconds = static_cast<double>(shortest) * run.unit_s;
    found.certain = !likely && seconds >= kShortestCertainStop_s &&
                    (alike || beyond_darkness(seconds, run.sensors));
    const auto is_part = [&](const BinRange& edge) {
      return kLongerThanRest * edge.bins() >= shortest &&
             std::none_of(known.begin(), known.end(),
                          [&](const BinRange& one) { return overlap(one, edge); });
    };
    for (const BinRange& edge : edges)
      if (is_part(edge)) found.stops.push_back(edge);
    sort_by_time(found.stops);
    return found;
  }
  return {};
}

// The expected number of dark times that are longer than `length`, if they are of exponential distribution beyond the
// kTail + 1st of `rest`, the longest first, which are `least` or longer; where it has fewer, the others are taken to be
// twice that. Of whole bins each may be one longer. The mean of the distribution is unknown: any is as likely.
double expected_beyond(double length, std::span<const BinRange> rest, double least) {
  constexpr std::size_t kTail = 32;
  const double from = rest.size() > kTail ? static_cast<double>(rest[kTail].bins()) : least;
  double sum = kTail;
  for (std::size_t k = 0; k < kTail; ++k)
    sum += k < rest.size() ? static_cast<double>(rest[k].bins()) - from : least;
  return kTail * std::pow(1 + (length - from) / sum, -static_cast<double>(kTail));
}

// Few, at any times and of any lengths, that are longer than the run's other dark times explain.
RepeatedStops few_stops(const std::vector<BinRange>& by_length, const CountsOfSteps& run,
                        const LongestGaps& gaps) {
  for (std::size_t most = std::min(kMostFewStops, by_length.size()); most > 0; --most) {
    const auto shortest = static_cast<double>(by_length[most - 1].bins());
    const std::span stops = std::span(by_length).first(most);
    if (shortest * run.unit_s < kShortestCertainStop_s ||
        kMostPartOfFew * sum_inside(stops, run.counted) > run.counted.bins() ||
        expected_beyond(shortest, std::span(by_length).subspan(most),
                        static_cast<double>(gaps.least())) > kChanceOfFew)
      continue;
    RepeatedStops found{{stops.begin(), stops.end()}, false, false};
    sort_by_time(found.stops);
    return found;
  }
  return {};
}

}  // namespace

std::uint64_t least_gap(double unit_s) {
  return static_cast<std::uint64_t>(
      std::max(1.0, kShortestRepeatedStop_s / static_cast<double>(kLongerThanRest) / unit_s));
}

RepeatedStops repeated_stops(const CountsOfSteps& run, const LongestGaps& gaps,
                             std::span<const BinRange> known) {
  const std::vector<BinRange> by_length = longest_first(run.counted, gaps, known);
  RepeatedStops found = stops_among(by_length, kShortestCertainStop_s, run, gaps, known);
  if (found.stops.empty()) found = few_stops(by_length, run, gaps);
  if (!found.stops.empty()) return found;
  return stops_among(by_length, kShortestRepeatedStop_s, run, gaps, known);
}

bool may_be_repeated(const BinRange& counted, double unit_s, const LongestGaps& gaps,
                     std::span<const BinRange> known) {
  const std::vector<BinRange> by_length = longest_first(counted, gaps, known);
  for (std::size_t most = by_length.size(); most >= kFewestStops; --most)
    if (outstanding(by_length, most, gaps, unit_s, kShortestRepeatedStop_s)) return true;
  return false;
}

}  // namespace tautline::pipeline
