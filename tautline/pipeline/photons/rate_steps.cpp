#include "tautline/pipeline/photons/rate_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/curve_label.h"
#include "tautline/pipeline/photons/level_change.h"
#include "tautline/pipeline/photons/rate_dips.h"

namespace tautline::pipeline {

namespace {

using Rates = std::span<const double>;

constexpr std::size_t kFewestCells = 64, kShortestPart = 16;
// Of two levels: their difference over the scatter of block means; the gap between them that holds no block's mean, and
// the change within a few cells, both as parts of the difference.
constexpr double kOfScatter = 4, kGap = 0.5, kAtOnce = 0.7;
constexpr double kLeastRatioOfLevels = 1.1;
constexpr std::size_t kFewestBlocks = 60, kFewestBlocksOfPart = 4, kMostParts = 5;
// Means of so many cells show the change at once: their error is a tenth of the height.
constexpr double kErrorOfHeight = 0.1;

double mean_of(Rates rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
}

// [first, end)
struct Part {
  std::size_t first = 0, end = 0;
  std::size_t size() const { return end - first; }
  Rates of(Rates rates) const { return rates.subspan(first, size()); }
};

// Of a series cut before each of `cuts`.
std::vector<Part> parts_between(const std::vector<std::size_t>& cuts, std::size_t size) {
  std::vector<Part> parts(1);
  for (const std::size_t cut : cuts) {
    parts.back().end = cut;
    parts.push_back({cut, 0});
  }
  parts.back().end = size;
  return parts;
}

std::vector<double> block_means(Rates rates, std::size_t block) {
  std::vector<double> means;
  for (std::size_t k = 0; k + block <= rates.size(); k += block)
    means.push_back(mean_of(rates.subspan(k, block)));
  return means;
}

// Sums of squares about the mean of each part, and their degrees of freedom.
struct Scatter {
  double squares = 0;
  std::size_t freedom = 0;
  void add(Rates values, double mean) {
    for (const double value : values) squares += (value - mean) * (value - mean);
    freedom += values.empty() ? 0 : values.size() - 1;
  }
  double deviation() const {
    return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, freedom)));
  }
};

// A step is inside cell `at`, which is in neither part.
struct Found {
  std::size_t at = 0;
  double place = 0;  // in cells, from the first one's begin on
};

// The parts between steps, without the cells of the steps.
std::vector<Part> parts_of(const std::vector<Found>& steps, std::size_t cells) {
  std::vector<Part> parts(1);
  for (const Found& step : steps) {
    parts.back().end = step.at;
    parts.push_back({step.at + 1, 0});
  }
  parts.back().end = cells;
  return parts;
}

struct Levels {
  double low = 0, high = 0;
  double limit() const { return (low + high) / 2; }
  double height() const { return high - low; }
};

// The means of the values below the middle between these means, and above.
std::optional<Levels> levels_of(Rates means) {
  constexpr int kMostRounds = 20;
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  Levels levels{*least, *most};
  if (!(levels.low < levels.high)) return std::nullopt;
  for (int round = 0; round < kMostRounds; ++round) {
    double low = 0, high = 0;
    std::size_t below = 0;
    for (const double mean : means)
      if (mean < levels.limit())
        low += mean, ++below;
      else
        high += mean;
    const std::size_t above = means.size() - below;
    if (below == 0 || above == 0) return std::nullopt;
    const Levels now{low / static_cast<double>(below), high / static_cast<double>(above)};
    if (now.low == levels.low && now.high == levels.high) break;
    levels = now;
  }
  if (levels.high < kLeastRatioOfLevels * levels.low) return std::nullopt;
  return levels;
}

// Parts of block means at one level each, the first and last ones of which may have some of a step; none where
// the means do not fall into two groups.
std::vector<Part> parts_at_levels(Rates means, std::size_t block, const Levels& levels) {
  std::vector<std::size_t> cuts;
  for (std::size_t k = 1; k < means.size(); ++k)
    if ((means[k] < levels.limit()) != (means[k - 1] < levels.limit())) cuts.push_back(k);
  if (cuts.empty() || cuts.size() >= kMostParts) return {};
  const std::vector<Part> parts = parts_between(cuts, means.size());
  double highest_low = levels.low, lowest_high = levels.high, deviation = 0;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    Part part = parts[r];
    const std::size_t blocks = part.end - part.first;
    if (blocks < kFewestBlocksOfPart || blocks * block < kShortestPart) return {};
    const bool low = means[part.first] < levels.limit();
    if (r > 0) ++part.first;
    if (r + 1 < parts.size()) --part.end;
    const Rates own = part.of(means);
    Scatter scatter;
    scatter.add(own, mean_of(own));
    deviation = std::max(deviation, scatter.deviation());
    if (low)
      highest_low = std::max(highest_low, *std::max_element(own.begin(), own.end()));
    else
      lowest_high = std::min(lowest_high, *std::min_element(own.begin(), own.end()));
  }
  if (lowest_high - highest_low < kGap * levels.height() ||
      levels.height() < kOfScatter * deviation)
    return {};
  return parts;
}

// The cell of [first, end) between two levels that describe these cells best.
std::size_t cell_of_change(Rates rates, const Part& range) {
  std::size_t best = range.first + 1;
  double most = -1;
  for (std::size_t at = range.first + 1; at + 1 < range.end; ++at) {
    const auto left = static_cast<double>(at - range.first);
    const auto right = static_cast<double>(range.end - at - 1);
    const double change =
        mean_of(Part{at + 1, range.end}.of(rates)) - mean_of(Part{range.first, at}.of(rates));
    const double gain = change * change * left * right;
    if (gain > most) most = gain, best = at;
  }
  return best;
}

// The variance of a cell, by the differences of neighbours.
double variance_of_cells(Rates rates) {
  double squares = 0;
  for (std::size_t k = 1; k < rates.size(); ++k)
    squares += (rates[k] - rates[k - 1]) * (rates[k] - rates[k - 1]);
  return rates.size() < 2 ? 0 : squares / 2 / static_cast<double>(rates.size() - 1);
}

// Near cell `place`, between `before` and `after`, ranges of cells; none where the change takes longer, two standard errors
// aside.
std::optional<Found> change_at_once(Rates rates, std::size_t block, std::size_t place,
                                    const Part& before, const Part& after) {
  const std::size_t reach = std::max<std::size_t>(8, 2 * block);  // ranks tell places that well
  const std::size_t at = cell_of_change(
      rates, {place - std::min(place, reach), std::min(rates.size(), place + reach + 1)});
  if (at < before.first + 1 || at + 1 >= after.end) return std::nullopt;
  const Part until{before.first, at}, since{at + 1, after.end};
  const double height = std::fabs(mean_of(since.of(rates)) - mean_of(until.of(rates)));
  const double variance =
      std::max(variance_of_cells(until.of(rates)), variance_of_cells(since.of(rates)));
  // A burst rises and falls within a part of its length, a step does not.
  constexpr std::size_t kOfPart = 8;
  const std::size_t most = std::max<std::size_t>(1, std::min(until.size(), since.size()) / kOfPart);
  const double enough = std::ceil(variance / std::pow(kErrorOfHeight * height, 2));
  const std::size_t cells = enough < static_cast<double>(most)
                                ? std::max<std::size_t>(1, static_cast<std::size_t>(enough))
                                : most;
  const double from = mean_of(rates.subspan(at - cells, cells));
  const double to = mean_of(rates.subspan(at + 1, cells));
  const double error = std::sqrt(2 * variance / static_cast<double>(cells));
  if (std::fabs(to - from) < kAtOnce * height - 2 * error) return std::nullopt;
  const double part = from == to ? 0 : std::clamp((rates[at] - to) / (from - to), 0.0, 1.0);
  return Found{at, static_cast<double>(at) + part};
}

// Between two levels with no block's mean between them, for blocks of some length: found however slow the fluctuations
// at each level are.
std::vector<Found> steps_between_levels(Rates rates) {
  for (std::size_t block = 1; rates.size() / block >= kFewestBlocks; block *= 2) {
    const std::vector<double> means = block_means(rates, block);
    const auto levels = levels_of(means);
    if (!levels) continue;
    const std::vector<Part> parts = parts_at_levels(means, block, *levels);
    std::vector<Found> steps;
    const auto in_cells = [&](const Part& part) {
      return Part{part.first * block, std::min(rates.size(), part.end * block)};
    };
    for (std::size_t r = 1; r < parts.size(); ++r)
      if (const auto found = change_at_once(rates, block, parts[r].first * block,
                                            in_cells(parts[r - 1]), in_cells(parts[r])))
        steps.push_back(*found);
    if (!steps.empty() && steps.size() + 1 == parts.size()) return steps;
  }
  return {};
}

// The fewest cells of which half have more counts than the least: so few counts tell the order of rates.
std::size_t cells_with_counts(Rates rates) {
  std::size_t cells = 1;
  for (; 2 * cells < rates.size(); cells *= 2) {
    const std::vector<double> means = block_means(rates, cells);
    const double least = *std::min_element(means.begin(), means.end());
    if (2 * static_cast<std::size_t>(std::count(means.begin(), means.end(), least)) <= means.size())
      break;
  }
  return cells;
}

// Where levels change, in the order of time.
void add_cuts(Rates rates, std::size_t first, std::vector<std::size_t>& cuts) {
  const auto stretch = changed_stretch(rates);
  if (!stretch) return;
  std::vector<std::size_t> own;
  if (stretch->first > 0) own.push_back(stretch->first);
  if (stretch->end < rates.size()) own.push_back(stretch->end);
  for (const Part& part : parts_between(own, rates.size())) {
    if (part.first > 0) cuts.push_back(first + part.first);
    add_cuts(part.of(rates), first + part.first, cuts);
  }
}

// Beyond what the fluctuations of the whole trace explain.
std::vector<Found> steps_in_fluctuations(Rates rates) {
  const std::size_t block = cells_with_counts(rates);
  std::vector<std::size_t> cuts;
  add_cuts(block_means(rates, block), 0, cuts);
  for (std::size_t& cut : cuts) cut *= block;
  const std::vector<Part> parts = parts_between(cuts, rates.size());
  std::vector<Found> steps;
  for (std::size_t r = 1; r < parts.size(); ++r)
    if (const auto found = change_at_once(rates, block, parts[r].first, parts[r - 1], parts[r]))
      steps.push_back(*found);
  return steps;
}

// The fall and the return of each dip.
std::vector<RateStep> steps_of_dips(Rates rates, const std::vector<StepRange>& dips,
                                    const std::vector<double>& time_s) {
  std::vector<RateStep> steps;
  for (std::size_t n = 0; n < dips.size(); ++n) {
    const auto& [first, end] = dips[n];
    const Part before{n == 0 ? 0 : dips[n - 1].end, first};
    const Part after{end, n + 1 == dips.size() ? rates.size() : dips[n + 1].first};
    const double low = mean_of(Part{first, end}.of(rates));
    const double half_s = (time_s[1] - time_s[0]) / 2;
    if (before.size() > 0)
      steps.push_back({time_s[first] - half_s, mean_of(before.of(rates)), low});
    if (after.size() > 0)
      steps.push_back({time_s[end - 1] + half_s, low, mean_of(after.of(rates))});
  }
  return steps;
}

}  // namespace

std::vector<RateStep> rate_steps(const core::RateTrace& trace) {
  if (trace.rate_khz.size() <= kFewestCells || trace.time_s.size() != trace.rate_khz.size())
    return {};
  const Rates rates =
      Rates(trace.rate_khz).first(trace.rate_khz.size() - 1);  // the last may be short
  if (!std::all_of(rates.begin(), rates.end(), [](double r) { return std::isfinite(r); }))
    return {};
  std::vector<Found> found = steps_between_levels(rates);
  if (found.empty()) found = steps_in_fluctuations(rates);
  if (found.empty()) return steps_of_dips(rates, rate_dips(rates), trace.time_s);
  const std::vector<Part> parts = parts_of(found, rates.size());
  std::vector<RateStep> steps;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const std::size_t at = found[k].at;
    const double cell_s = trace.time_s[at + 1] - trace.time_s[at];
    const double inside = found[k].place - static_cast<double>(at) - 0.5;
    steps.push_back({trace.time_s[at] + inside * cell_s, mean_of(parts[k].of(rates)),
                     mean_of(parts[k + 1].of(rates))});
  }
  return steps;
}

std::string steps_text(const std::vector<RateStep>& steps) {
  constexpr std::size_t kMostNamed = 4;
  std::string text;
  for (std::size_t k = 0; k < std::min(kMostNamed, steps.size()); ++k)
    text += fmt::format("{}at {:.4g} s from {:.3g} to {:.3g} kHz", k == 0 ? "" : ", ",
                        steps[k].time_s, steps[k].before_khz, steps[k].after_khz);
  if (steps.size() > kMostNamed)
    text += fmt::format(", and {} more", core::counted(steps.size() - kMostNamed, "step"));
  return text;
}

std::vector<RateStep> steps_of_curve(const core::CorrelationCurves& curves, std::size_t curve,
                                     const std::set<std::string>& stopped) {
  if (curve < curves.mask.size() && curves.mask[curve] == 0) return {};
  std::vector<RateStep> steps;
  if (curve < curves.first.size() && !stopped.contains(curves.first[curve].label))
    steps = rate_steps(curves.first[curve].trace);
  if (steps.empty() && curves.cross && curve < curves.second.size() &&
      !stopped.contains(curves.second[curve].label))
    steps = rate_steps(curves.second[curve].trace);
  return steps;
}

std::string steps_warning(const core::CorrelationCurves& curves,
                          const std::set<std::string>& stopped, std::set<std::string>& stepping) {
  if (curves.detrended || curves.normalization == core::Normalization::none) return {};
  std::size_t count = 0, first = 0;
  std::vector<RateStep> steps;
  for (std::size_t p = 0; p < curves.curves; ++p) {
    std::vector<RateStep> own = steps_of_curve(curves, p, stopped);
    if (own.empty()) continue;
    if (count++ == 0) first = p, steps = std::move(own);
    stepping.insert(curves.first[p].label);
    if (curves.cross) stepping.insert(curves.second[p].label);
  }
  if (count == 0) return {};
  const std::string begin =
      curves.curves == 1
          ? fmt::format("the rate of counts steps {}", steps_text(steps))
          : fmt::format("the rate of counts steps in {} of {} curves (first: {}, {})", count,
                        curves.curves, core::label_of(curves, first), steps_text(steps));
  return fmt::format(
      "{}, as where a shutter closes or a lamp changes: this bends the {}; `start_s` and "
      "`duration_s` keep a part at one level, `detrend`{} takes off what is not in a step's own "
      "segment",
      begin, count == 1 ? "curve" : "curves",
      curves.normalization == core::Normalization::symmetric ? ""
                                                             : " with symmetric normalisation");
}

}  // namespace tautline::pipeline
