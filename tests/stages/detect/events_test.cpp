// The refinement of a peak against the plain loop over all candidates.
#include "tautline/stages/detect/events.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::stages::detect {
namespace {

struct PeakCase {
  Sizes sizes;
  std::vector<float> y;
  std::uint64_t first = 0;  // of y
  double sigma = 1, threshold = 5;
  std::uint64_t window = 0;
};

// The middle of the boxcars within kEqualSigmas of the best, as events.h defines it.
Events::Event refined_plainly(const PeakCase& p, Events::Event event) {
  Detection& d = event.detection;
  const std::uint64_t listed = p.sizes.widths[event.width_index];
  const std::uint64_t begin = d.first - std::min(listed, d.first - p.first);
  const std::uint64_t end = std::min(d.first + listed + p.sizes.widest(), p.first + p.y.size());
  std::vector<double> sums{0};
  for (std::uint64_t t = begin; t < end; ++t) {
    const double y = p.y[t - p.first];
    sums.push_back(sums.back() + (std::isnan(y) ? 0 : y));
  }
  const auto sum = [&](std::uint64_t start, std::uint64_t width) {
    return sums[start + width - begin] - sums[start - begin];
  };
  const auto snr = [&](std::uint64_t start, std::uint64_t width) {
    return sum(start, width) / p.sigma * snr_factor(width);
  };
  const double limit = snr(d.first, listed) - kEqualSigmas;
  double weight = 0, starts = 0, ends = 0;
  for (const std::uint64_t width : p.sizes.widths) {
    if (2 * width < listed || width > 2 * listed || 2 * width > p.window) continue;
    const double factor = snr_factor(width) / p.sigma;
    for (std::uint64_t start = begin; start <= d.first + listed && start + width <= end; ++start) {
      const double above = sum(start, width) * factor - limit;
      if (!(sum(start, width) * factor > limit)) continue;
      weight += above;
      starts += above * static_cast<double>(start);
      ends += above * (static_cast<double>(start) + static_cast<double>(width));
    }
  }
  if (weight > 0) {
    const auto first = static_cast<std::uint64_t>(starts / weight + 0.5);
    const auto after = static_cast<std::uint64_t>(ends / weight + 0.5);
    const std::uint64_t width = std::max<std::uint64_t>(1, after - first);
    if (snr(first, width) >= p.threshold) {
      d.snr = snr(first, width);
      d.first = first;
      d.width = width;
      return event;
    }
  }
  d.snr = std::max(snr(d.first, listed), event.best < p.threshold ? p.threshold : event.best);
  d.width = listed;
  return event;
}

TEST(RefinePeak, EqualsThePlainLoop) {
  std::mt19937_64 random = tests::generator();
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  std::normal_distribution<double> normal;
  RefineScratch scratch;
  int middles = 0;
  for (int n = 0; n < 400; ++n) {
    Config config;
    config.sample_time_s = 1e-3;
    config.max_width_s = 1e-3 * static_cast<double>(between(1, 400));
    PeakCase p;
    p.sizes = derive_sizes(config);
    p.first = static_cast<std::uint64_t>(between(0, 1000));
    p.y.resize(static_cast<std::size_t>(between(2, 5000)));
    for (float& y : p.y)
      y = between(0, 50) == 0 ? std::numeric_limits<float>::quiet_NaN()
                              : static_cast<float>(normal(random));
    Events::Event event;
    event.width_index =
        static_cast<std::size_t>(between(0, static_cast<int>(p.sizes.widths.size()) - 1));
    std::uint64_t listed = p.sizes.widths[event.width_index];
    if (listed > p.y.size()) listed = p.sizes.widths[event.width_index = 0];
    const auto at = static_cast<std::size_t>(between(0, static_cast<int>(p.y.size() - listed)));
    const double height = between(0, 3) == 0 ? 100 : 10;
    for (std::size_t i = at; i < at + listed; ++i)
      p.y[i] += static_cast<float>(height / std::sqrt(static_cast<double>(listed)));
    p.window = between(0, 1) == 0 ? 2 * listed : std::uint64_t{1} << 40;
    p.sigma = std::exp(normal(random));
    event.detection.first = p.first + at;
    event.detection.width = listed;
    event.best = event.detection.snr = 9;

    const Events::Event expected = refined_plainly(p, event);
    refine_peak({p.y.data(), p.first, p.first + p.y.size()}, p.sizes, p.sigma, p.window,
                p.threshold, scratch, event);
    EXPECT_EQ(event.detection.first, expected.detection.first) << n;
    EXPECT_EQ(event.detection.width, expected.detection.width) << n;
    EXPECT_EQ(event.detection.snr, expected.detection.snr) << n;
    middles += event.detection.width != listed ? 1 : 0;
  }
  EXPECT_GT(middles, 0);
}

}  // namespace
}  // namespace tautline::stages::detect
