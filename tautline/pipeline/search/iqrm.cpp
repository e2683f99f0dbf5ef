#include "tautline/pipeline/search/iqrm.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tautline::pipeline {

namespace {

// From the interquartile range of Gaussian values to their standard deviation.
constexpr double kIqrPerSigma = 1.349;

// The value below which `share` of the values lie, between two of them where it falls there. Reorders them.
double quantile(std::vector<double>& values, double share) {
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (below + 1 == values.size()) return low;
  const double next = *std::min_element(at + 1, values.end());
  return low + (next - low) * (place - static_cast<double>(below));
}

struct Votes {
  // Pairs (against, by), each once.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cast;
};

// Votes of one lag: `back` channels lower, or higher where it is negative.
void vote(std::span<const double> x, std::ptrdiff_t back, double threshold,
          std::vector<double>& difference, std::vector<double>& sorted, Votes& votes) {
  const auto last = static_cast<std::ptrdiff_t>(x.size()) - 1;
  const auto neighbour = [&](std::size_t i) {
    return static_cast<std::size_t>(
        std::clamp(static_cast<std::ptrdiff_t>(i) - back, std::ptrdiff_t{0}, last));
  };
  for (std::size_t i = 0; i < x.size(); ++i) difference[i] = x[i] - x[neighbour(i)];
  sorted = difference;
  const double low = quantile(sorted, 0.25), median = quantile(sorted, 0.5),
               high = quantile(sorted, 0.75);
  const double limit = threshold * ((high - low) / kIqrPerSigma);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (difference[i] - median > limit)
      votes.cast.emplace_back(static_cast<std::uint32_t>(i),
                              static_cast<std::uint32_t>(neighbour(i)));
}

}  // namespace

std::vector<std::size_t> iqrm_lags(std::size_t radius) {
  std::vector<std::size_t> lags;
  for (std::size_t lag = 1; lag <= radius; lag = std::max(lag + lag / 2, lag + 1))
    lags.push_back(lag);
  return lags;
}

std::size_t iqrm_radius(std::size_t radius, std::size_t channels) {
  const auto share =
      static_cast<std::size_t>(std::lround(kIqrmRadiusShare * static_cast<double>(channels)));
  return std::min(radius > 0 ? radius : std::max<std::size_t>(1, share), channels - 1);
}

std::vector<std::uint8_t> iqrm_mask(std::span<const double> statistic, const IqrmLimits& limits) {
  const std::size_t channels = statistic.size();
  std::vector<std::uint8_t> mask(channels, 0);
  if (channels < 2) return mask;
  std::vector<double> difference(channels), sorted;
  Votes votes;
  for (const std::size_t lag : iqrm_lags(iqrm_radius(limits.radius, channels)))
    for (const std::ptrdiff_t sign : {1, -1})
      vote(statistic, sign * static_cast<std::ptrdiff_t>(lag), limits.threshold, difference, sorted,
           votes);
  // Two lags may name the same pair near the edges, where the outermost channel stands for those beyond.
  std::sort(votes.cast.begin(), votes.cast.end());
  votes.cast.erase(std::unique(votes.cast.begin(), votes.cast.end()), votes.cast.end());
  std::vector<std::size_t> given(channels, 0), received(channels, 0);
  for (const auto& [against, by] : votes.cast) {
    ++given[by];
    ++received[against];
  }
  for (const auto& [against, by] : votes.cast)
    if (given[by] < received[against]) mask[against] = 1;
  return mask;
}

}  // namespace tautline::pipeline
