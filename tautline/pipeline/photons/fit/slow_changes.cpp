#include "tautline/pipeline/photons/fit/slow_changes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "tautline/pipeline/photons/fit/doubt.h"

namespace tautline::pipeline::fit {

namespace {

using Rates = std::span<const double>;

constexpr std::size_t kFewestCells = 64;
constexpr std::size_t kNumbersOfParts[] = {8, 16, 32, 64};
// What chance exceeds three times in a million: in standard deviations of the normal distribution.
constexpr double kBeyondChance = 4.5;
// Means over parts of the run scatter more than the normal distribution has it where molecules are few: a variance of n
// parts is as uncertain as one of so much of n - 1 degrees of freedom.
constexpr double kFreedomLeft = 2.0 / 3;

double mean_of(Rates rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
}

// Relative to the means, of two signals or of one given twice.
double covariance_of_parts(Rates a, Rates b, std::size_t cells) {
  std::vector<double> parts_a, parts_b;
  for (std::size_t k = 0; k + cells <= a.size(); k += cells) {
    parts_a.push_back(mean_of(a.subspan(k, cells)));
    parts_b.push_back(mean_of(b.subspan(k, cells)));
  }
  const double mean_a = mean_of(parts_a), mean_b = mean_of(parts_b);
  double sum = 0;
  for (std::size_t k = 0; k < parts_a.size(); ++k)
    sum += (parts_a[k] - mean_a) * (parts_b[k] - mean_b);
  return sum / static_cast<double>(parts_a.size() - 1) / (mean_a * mean_b);
}

// Half of the mean product of the differences of neighbours: the variance of a cell, less the covariance of neighbours.
double fast_covariance(Rates a, Rates b) {
  double sum = 0;
  for (std::size_t k = 1; k < a.size(); ++k) sum += (a[k] - a[k - 1]) * (b[k] - b[k - 1]);
  return sum / 2 / static_cast<double>(a.size() - 1) / (mean_of(a) * mean_of(b));
}

// Without the last cell, which may be short. Empty where it cannot be used.
Rates rates_of(const core::RateTrace& trace) {
  const auto& all = trace.rate_khz;
  if (all.size() <= kFewestCells || trace.time_s.size() != all.size()) return {};
  const Rates rates = Rates(all).first(all.size() - 1);
  const bool finite = std::ranges::all_of(rates, [](double rate) { return std::isfinite(rate); });
  return finite && mean_of(rates) > 0 ? rates : Rates();
}

// Neighbours that a stop separates are further apart.
double cell_of(const core::RateTrace& trace) {
  double cell_s = trace.time_s[1] - trace.time_s[0];
  for (std::size_t k = 1; k + 1 < trace.time_s.size(); ++k)
    cell_s = std::min(cell_s, trace.time_s[k] - trace.time_s[k - 1]);
  return cell_s;
}

}  // namespace

double variance_of_mean(const Model& model, std::span<const double> values, double time_s) {
  constexpr int kSteps = 240;
  constexpr double kShortest = 1e-9;  // of the time
  const double ratio = std::pow(1 / kShortest, 1.0 / kSteps);
  const auto weighted = [&](double lag_s) {
    return (1 - lag_s / time_s) * evaluate(model, values, lag_s, {});
  };
  double lag_s = kShortest * time_s, before = weighted(lag_s), sum = lag_s * before;
  for (int k = 1; k <= kSteps; ++k) {
    const double next_s = k == kSteps ? time_s : lag_s * ratio, here = weighted(next_s);
    sum += (next_s - lag_s) * (before + here) / 2;
    lag_s = next_s, before = here;
  }
  return 2 * sum / time_s;
}

std::optional<SlowChange> slow_change_of(const Model& model, std::span<const double> values,
                                         const core::RateTrace& first,
                                         const core::RateTrace& second) {
  const Rates a = rates_of(first);
  const Rates b = second.rate_khz.empty() ? a : rates_of(second);
  if (a.empty() || a.size() != b.size()) return std::nullopt;
  const double cell_s = cell_of(first);
  if (!(cell_s > 0)) return std::nullopt;
  const double of_cell = variance_of_mean(model, values, cell_s);
  const double of_neighbours = 2 * (of_cell - variance_of_mean(model, values, 2 * cell_s));
  // Of counting, and of what fluctuates within a cell and is not in the model.
  const double noise = std::max(0.0, fast_covariance(a, b) - of_neighbours);
  std::optional<SlowChange> found;
  double most = 1;
  for (const std::size_t parts : kNumbersOfParts) {
    const std::size_t cells = a.size() / parts;
    const double part_s = cell_s * static_cast<double>(cells);
    const double expected =
        std::max(0.0, noise / static_cast<double>(cells) + variance_of_mean(model, values, part_s));
    const double observed = covariance_of_parts(a, b, cells);
    const double freedom = kFreedomLeft * static_cast<double>(a.size() / cells - 1);
    const double limit = chi_squared_beyond(kBeyondChance, freedom) / freedom;
    if (observed <= most * limit * expected) continue;
    most = expected > 0 ? observed / (limit * expected) : most;
    found = SlowChange{observed - expected, part_s};
  }
  return found;
}

}  // namespace tautline::pipeline::fit
