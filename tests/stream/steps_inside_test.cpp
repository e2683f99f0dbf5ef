// Steps in series of an input's mean powers, and what looks like steps and is none.
#include "tautline/stream/steps_inside.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::stream {
namespace {

using LevelOfTime = std::function<double(double)>;  // of the part of the series that has passed

// Mean powers of `samples` complex samples of noise each.
std::vector<float> powers_of(std::size_t pieces, double samples, std::mt19937_64& random,
                             const LevelOfTime& level) {
  std::gamma_distribution<double> mean(samples, 1 / samples);
  std::vector<float> powers;
  for (std::size_t k = 0; k < pieces; ++k)
    powers.push_back(static_cast<float>(
        mean(random) * level(static_cast<double>(k) / static_cast<double>(pieces))));
  return powers;
}

TEST(StepsInside, StepsAreFoundWhereTheyAre) {
  auto random = tests::generator();
  for (const double samples : {128.0, 1000.0, 100'000.0})
    for (const double ratio : {0.25, 0.5, 2.0, 4.0}) {
      const std::size_t at = 300 + random() % 300;
      auto powers = powers_of(900, samples, random, [&](double x) {
        return x * 900 >= static_cast<double>(at) ? ratio : 1.0;
      });
      // A piece that has some of both, and pieces without samples.
      powers[at] = static_cast<float>(1 + 0.25 * (ratio - 1));
      for (int k = 0; k < 40; ++k)
        if (const std::size_t none = random() % 900; none != at)
          powers[none] = std::numeric_limits<float>::quiet_NaN();
      const auto steps = find_steps_inside(powers);
      ASSERT_EQ(steps.size(), 1u) << samples << " " << ratio << " at " << at;
      EXPECT_NEAR(steps[0].place, static_cast<double>(at) + 0.75, 2 * steps[0].within);
      EXPECT_LT(steps[0].within, 3);
      EXPECT_NEAR(steps[0].power_ratio / ratio, 1, 0.15);
      EXPECT_GT(std::abs(steps[0].standard_errors), 10);
    }
}

TEST(StepsInside, SeveralAreFoundAndNearTheEnds) {
  auto random = tests::generator();
  const auto powers = powers_of(1000, 2000, random, [](double x) {
    return x < 0.02 ? 1.0 : x < 0.3 ? 2.0 : x < 0.35 ? 0.9 : x < 0.97 ? 1.8 : 3.6;
  });
  const auto steps = find_steps_inside(powers);
  ASSERT_EQ(steps.size(), 4u);
  const double places[] = {20, 300, 350, 970};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(steps[k].place, places[k], 2.5);
}

// Noise, receivers that drift or settle, bursts, pulses, tones that fade, sources that pass.
TEST(StepsInside, OtherChangesAreNone) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const std::vector<std::pair<std::string, std::function<LevelOfTime()>>> kinds{
      {"noise", [] { return [](double) { return 1.0; }; }},
      {"a small step", [] { return [](double x) { return x < 0.4 ? 1 : 1.06; }; }},
      {"a smaller step", [] { return [](double x) { return x < 0.4 ? 1 : 1.03; }; }},
      {"a drift", [] { return [](double x) { return 1 + 2 * x; }; }},
      {"settling",
       [&] {
         const double time = std::exp(-1 - 4 * uniform(random)), height = uniform(random);
         return [=](double x) { return 1 + height * std::exp(-x / time); };
       }},
      {"a source that passes",
       [&] {
         const double width = 0.05 + 0.3 * uniform(random);
         return [=](double x) { return 1 + std::exp(-0.5 * std::pow((x - 0.5) / width, 2)); };
       }},
      {"bursts",
       [&] {
         return [&](double) { return uniform(random) < 0.05 ? 1 + 9 * uniform(random) : 1; };
       }},
      {"pulses", [] { return [](double x) { return std::fmod(x * 37, 1) < 0.1 ? 2.0 : 1.0; }; }},
      {"a gain that wanders", [&] {
         return [&, gain = 1.0](double) mutable {
           gain *= std::exp(0.003 * normal(random));
           return gain;
         };
       }}};
  for (const auto& [name, make] : kinds)
    for (int repeat = 0; repeat < 20; ++repeat)
      for (const double samples : {64.0, 5000.0}) {
        // With noise of 12 % one series in 1,500 says 10 % of it, as clearly as a step has to.
        if (name == "a small step" && samples < 5000) continue;
        const auto steps =
            find_steps_inside(powers_of(200 + random() % 800, samples, random, make()));
        EXPECT_TRUE(steps.empty())
            << name << ": " << steps.front().place << " by " << steps.front().power_ratio;
      }
}

TEST(StepsInside, ShortSeriesHaveNone) {
  auto random = tests::generator();
  for (const std::size_t pieces : {0ul, 1ul, 2ul, 31ul, 32ul})
    EXPECT_TRUE(find_steps_inside(powers_of(pieces, 1000, random, [](double x) {
                  return x < 0.5 ? 1.0 : 5.0;
                })).empty());
  EXPECT_EQ(
      find_steps_inside(powers_of(40, 1000, random, [](double x) { return x < 0.5 ? 1.0 : 5.0; }))
          .size(),
      1u);
  EXPECT_TRUE(find_steps_inside(std::vector<float>(100, 0)).empty());
  EXPECT_TRUE(find_steps_inside(std::vector<float>(100, 3)).empty());
}

}  // namespace
}  // namespace tautline::stream
