#include "tautline/pipeline/photons/count_trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tautline/core/curve_label.h"

namespace tautline::pipeline {

namespace {

constexpr auto kTrendParts = static_cast<double>(kTrendBlocks);
constexpr double kTrendCoefficients = 3;       // of a parabola
constexpr double kMostTrendCorrelation = 0.9;  // of neighbouring blocks
constexpr std::size_t kTrendTenth = kTrendBlocks / 10;

double mean_rate_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> trend_block_means(std::span<const double> rates) {
  std::vector<double> means;
  for (std::size_t b = 0; b < kTrendBlocks; ++b) {
    const std::size_t first = b * rates.size() / kTrendBlocks;
    const std::size_t end = (b + 1) * rates.size() / kTrendBlocks;
    means.push_back(mean_rate_of(rates.subspan(first, end - first)));
  }
  return means;
}

// The median of the errors at the quarter of the lags that is the longest, of those with an error; NaN without any.
double error_at_long_lags(const core::CorrelationCurves& curves, std::size_t curve) {
  constexpr std::size_t kPart = 4;
  if (curves.standard_error.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> errors;
  for (std::size_t l = 0; l < curves.lags; ++l)
    if (const double error = curves.standard_error[curve * curves.lags + l]; std::isfinite(error))
      errors.push_back(error);
  if (errors.empty()) return std::numeric_limits<double>::quiet_NaN();
  errors.erase(errors.begin(),
               errors.end() - static_cast<std::ptrdiff_t>((errors.size() + kPart - 1) / kPart));
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

}  // namespace

std::optional<CountTrend> trend_of(std::span<const double> rates) {
  if (rates.size() > kTrendBlocks)
    rates = rates.first(rates.size() - 1);  // the last step may be short
  if (rates.size() < kTrendBlocks) return std::nullopt;
  const std::vector<double> means = trend_block_means(rates);
  const double mean = mean_rate_of(means);
  if (!(mean > 0) || !std::isfinite(mean)) return std::nullopt;
  // Orthogonal polynomials of the blocks' places.
  const double mean_square = (kTrendParts * kTrendParts - 1) / 12;
  const auto line = [](std::size_t b) { return static_cast<double>(b) - (kTrendParts - 1) / 2; };
  const auto bow = [&](std::size_t b) { return line(b) * line(b) - mean_square; };
  double line_product = 0, bow_product = 0, line_square = 0, bow_square = 0;
  for (std::size_t b = 0; b < kTrendBlocks; ++b) {
    line_product += means[b] * line(b), line_square += line(b) * line(b);
    bow_product += means[b] * bow(b), bow_square += bow(b) * bow(b);
  }
  const double slope = line_product / line_square, curvature = bow_product / bow_square;
  CountTrend trend;
  std::vector<double> rest;
  for (std::size_t b = 0; b < kTrendBlocks; ++b) {
    const double fitted = slope * line(b) + curvature * bow(b);
    trend.part.push_back(fitted / mean);
    rest.push_back(means[b] - mean - fitted);
  }
  const double squares = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
  const double neighbours = std::inner_product(rest.begin() + 1, rest.end(), rest.begin(), 0.0);
  // Fluctuations that last for longer than a block leave fewer independent blocks. The fit takes
  // kTrendCoefficients / kTrendParts of their correlation.
  const double correlation =
      squares > 0 ? std::clamp(neighbours / squares + kTrendCoefficients / kTrendParts, 0.0,
                               kMostTrendCorrelation)
                  : 0;
  const double error = std::sqrt(squares / (kTrendParts - kTrendCoefficients) / line_square *
                                 (1 + correlation) / (1 - correlation));
  trend.standard_errors = slope == 0 ? 0 : std::fabs(slope) / error;
  const std::span<const double> all(means);
  trend.change = mean_rate_of(all.last(kTrendTenth)) / mean_rate_of(all.first(kTrendTenth)) - 1;
  return trend;
}

std::string trend_warning(const core::CorrelationCurves& curves,
                          const std::set<std::string>& stopped) {
  if (curves.detrended || curves.normalization == core::Normalization::none) return {};
  const auto judged = [&](const core::CurveSignal& signal) -> std::optional<CountTrend> {
    if (stopped.contains(signal.label)) return std::nullopt;
    std::optional<CountTrend> trend = trend_of(signal.trace.rate_khz);
    if (!trend || !(trend->standard_errors > kTrendStandardErrors)) return std::nullopt;
    return trend;
  };
  struct Found {
    double excess = 0, added = 0, error = 0, change = 0;
    std::size_t curve = 0;
  };
  Found worst;
  std::size_t count = 0;
  for (std::size_t p = 0; p < curves.curves; ++p) {
    if (p < curves.mask.size() && curves.mask[p] == 0) continue;
    const double error = error_at_long_lags(curves, p);
    if (!(error > 0)) continue;
    const auto first = judged(curves.first[p]);
    const auto second = curves.cross && first ? judged(curves.second[p]) : first;
    if (!first || !second) continue;
    const double added =
        std::inner_product(first->part.begin(), first->part.end(), second->part.begin(), 0.0) /
        kTrendParts;
    const double excess = std::fabs(added) / error;
    if (!(excess > 1)) continue;
    ++count;
    if (excess > worst.excess) worst = {excess, added, error, first->change, p};
  }
  if (count == 0) return {};
  const std::string change = fmt::format("{} by {:.3g} %", worst.change < 0 ? "fall" : "rise",
                                         100 * std::fabs(worst.change));
  const std::string begin =
      curves.curves == 1
          ? fmt::format(
                "counts {} from the first tenth of the run to the last, as where a dye "
                "bleaches: this",
                change)
          : fmt::format(
                "counts of {} of {} curves fall or rise over the run, as where a dye bleaches: "
                "those of {} {} from its first tenth to its last, which",
                count, curves.curves, core::label_of(curves, worst.curve), change);
  return fmt::format(
      "{} adds {:.2g} to g at long lags (standard error {:.2g}); `detrend`{} takes it off", begin,
      worst.added, worst.error,
      curves.normalization == core::Normalization::symmetric ? ""
                                                             : " with symmetric normalisation");
}

}  // namespace tautline::pipeline
