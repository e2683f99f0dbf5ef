// Runs of equal items against a loop over all of them; the rule's probability against simulated noise.
#include "tautline/core/constant_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::core {

namespace {

// `count` items of `bytes` each, `stride` bytes from one to the next.
struct ItemSeries {
  const std::uint8_t* data;
  std::size_t stride, bytes, count;
  bool equal(std::size_t a, std::size_t b) const {
    return std::memcmp(data + a * stride, data + b * stride, bytes) == 0;
  }
};

ItemSeries series_of(const std::vector<std::uint8_t>& items, std::size_t bytes,
                     std::size_t padding) {
  return {items.data(), bytes + padding, bytes, items.size() / (bytes + padding)};
}

// The definition.
std::optional<ConstantRun> first_run(const ItemSeries& series, std::size_t repeats,
                                     std::size_t from) {
  for (std::size_t first = from; first < series.count;) {
    std::size_t end = first + 1;
    while (end < series.count && series.equal(end, first)) ++end;
    if (end - first > repeats || end == series.count) return ConstantRun{first, end};
    first = end;
  }
  return std::nullopt;
}

}  // namespace

TEST(ConstantRun, IsTheFirstThatIsLongEnoughOrReachesTheEnd) {
  auto random = tests::generator();
  std::size_t found = 0, none = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    const std::size_t bytes = 1 + random() % 3, padding = random() % 3, count = random() % 90;
    std::vector<std::uint8_t> items(count * (bytes + padding));
    for (auto& byte : items) byte = static_cast<std::uint8_t>(random() % 256);
    // Stretches of any length, some side by side.
    for (std::size_t k = random() % 20; k < count; k += random() % 25) {
      const std::size_t end = std::min(count, k + 1 + random() % 20);
      for (std::size_t i = k; i < end; ++i)
        for (std::size_t b = 0; b < bytes; ++b)
          items[i * (bytes + padding) + b] = static_cast<std::uint8_t>(k % 2);
    }
    const ItemSeries series = series_of(items, bytes, padding);
    const std::size_t repeats = 1 + random() % 12, from = count == 0 ? 0 : random() % count;
    const auto expected = first_run(series, repeats, from);
    const auto equal = [&](std::size_t a, std::size_t b) { return series.equal(a, b); };
    const auto around = [&](std::size_t k) { return run_around(equal, count, k, from); };
    const auto run = find_constant_run(equal, around, count, repeats, from);
    ASSERT_EQ(run.has_value(), expected.has_value()) << turn;
    run && run->repeats() >= repeats ? ++found : ++none;
    if (!run) continue;
    EXPECT_EQ(run->first, expected->first) << turn;
    EXPECT_EQ(run->end, expected->end) << turn;
  }
  EXPECT_GT(found, 100u);
  EXPECT_GT(none, 100u);
}

// The number of runs of n repeats goes as p^n: from what noise does for small n to the rule's n.
TEST(ConstantRun, NoiseRepeatsItselfAsSeldomAsTheRuleSays) {
  auto random = tests::generator();
  constexpr double kRate = 1e6;
  struct Noise {
    int bits;
    double sigma, offset;  // in steps
  };
  for (const Noise& noise : {Noise{1, 1, 1.5}, {2, 1, 0}, {4, 1, 0}, {8, 1, 0}, {8, 20, 0}}) {
    std::normal_distribution<double> normal(noise.offset, noise.sigma);
    const double most = std::exp2(noise.bits - 1) - 1;
    std::size_t repeats = 0;
    constexpr std::size_t kSamples = 400'000;
    double last = 1e9;
    for (std::size_t t = 0; t < kSamples; ++t) {
      const double x = std::min(most, std::max(-most - 1, std::floor(normal(random))));
      repeats += x == last ? 1 : 0;
      last = x;
    }
    const double chance = static_cast<double>(repeats) / kSamples;
    const auto n = static_cast<double>(repeats_of_nothing(noise.bits, kRate));
    EXPECT_LT(std::pow(chance, n) * kRate * 3600, 1e-9) << noise.bits << " bits, p " << chance;
  }
  EXPECT_GT(repeats_of_nothing(1, kRate), repeats_of_nothing(2, kRate));
  EXPECT_GT(repeats_of_nothing(2, kRate), repeats_of_nothing(8, kRate));
  EXPECT_GT(repeats_of_nothing(8, 1e9), repeats_of_nothing(8, 1e3));
}

}  // namespace tautline::core
