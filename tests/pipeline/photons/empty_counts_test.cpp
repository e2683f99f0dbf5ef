// Sensors that stop and padding: found where chance has none, and never in noise or in the light of few molecules.
#include "tautline/pipeline/photons/empty_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kTraceSteps = 1000;

std::vector<double> steps_of_noise(std::mt19937_64& random, double mean) {
  std::poisson_distribution<int> draw(mean);
  std::vector<double> counts(kTraceSteps);
  for (double& count : counts) count = draw(random);
  return counts;
}

// Also while the light fades to half of what it was.
TEST(EmptyCounts, AStopIsFoundToTheStep) {
  auto random = tests::generator();
  for (int trial = 0; trial < 200; ++trial) {
    std::poisson_distribution<int> draw(500);
    std::vector<double> counts(kTraceSteps);
    for (std::size_t k = 0; k < counts.size(); ++k)
      counts[k] = std::floor(draw(random) * (1 - 0.5 * static_cast<double>(k) / kTraceSteps)) + 1;
    const std::size_t first = random() % 700, length = 1 + random() % 250;
    std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(first), length, 0.0);
    EXPECT_EQ(stopped_steps(counts, 1024), (std::vector<StepRange>{{first, first + length}}));
    counts[first] = 1;
    if (length == 1) {
      EXPECT_TRUE(stopped_steps(counts, 1024).empty());
    }
  }
}

// From half of the run to 24 parts of 25, at its begin, at its end and inside.
TEST(EmptyCounts, AStopOfMostOfARun) {
  auto random = tests::generator();
  for (int trial = 0; trial < 200; ++trial) {
    const auto light = steps_of_noise(random, 30);
    const std::size_t length = 500 + random() % 460, last = kTraceSteps - length;
    for (const std::size_t first : {std::size_t{0}, last, random() % last}) {
      auto counts = light;
      std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(first), length, 0.0);
      EXPECT_EQ(stopped_steps(counts, 1024), (std::vector<StepRange>{{first, first + length}}));
    }
  }
}

TEST(EmptyCounts, FaintLightHasToStopForLonger) {
  auto random = tests::generator();
  for (int trial = 0; trial < 50; ++trial) {
    auto counts = steps_of_noise(random, 2);
    std::fill_n(counts.begin() + 300, 20, 0.0);  // exp(-20) is rare, and no proof
    EXPECT_TRUE(stopped_steps(counts, 1).empty());
    std::fill_n(counts.begin() + 300, 400, 0.0);
    const auto found = stopped_steps(counts, 1);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_LE(found[0].first, 300u);
    EXPECT_GE(found[0].end, 700u);
  }
}

// At every rate at which steps are empty now and then: Poisson's counts, and bursts of many photons at random times, of
// up to 3 per cent of the run, as molecules give them.
TEST(EmptyCounts, NoiseAndBurstsNeverStop) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> share(0, 1);
  for (int trial = 0; trial < 3000; ++trial) {
    const double mean = std::pow(10.0, 3.5 * share(random) - 2.5);
    EXPECT_TRUE(stopped_steps(steps_of_noise(random, mean), 1).empty()) << mean;
    std::vector<double> bursts(kTraceSteps);
    std::poisson_distribution<int> number(mean * kTraceSteps);
    const double photons = std::pow(10.0, 4 * share(random));
    const auto longest = static_cast<std::size_t>(std::pow(10.0, 1.5 * share(random)));
    for (int n = number(random); n > 0; --n) {
      // On a ring: as many at the begin as anywhere.
      const std::size_t from = random() % kTraceSteps, length = 1 + random() % longest;
      for (std::size_t k = from; k < from + length; ++k)
        bursts[k % kTraceSteps] += std::ceil(photons * share(random));
    }
    EXPECT_TRUE(stopped_steps(bursts, 1).empty())
        << mean << " bursts a step of " << photons << " photons, " << longest << " steps";
  }
}

// A lone emitter that goes dark does not stop where there is a background of a photon a step. Without one it is named
// where it was dark a few times: nobody could tell.
TEST(EmptyCounts, EmittersThatBlink) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> share(0, 1);
  std::size_t named = 0, often = 0, named_often = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const double bright = std::pow(10.0, 1 + 3 * share(random));
    const double background = trial % 2 == 0 ? 0 : std::pow(10.0, 2 * share(random));
    std::exponential_distribution<double> lasts(std::pow(10.0, -2 * share(random)));
    std::vector<double> counts;
    std::size_t times_dark = 0;
    for (bool on = true; counts.size() < kTraceSteps; on = !on) {
      times_dark += on ? 0 : 1;
      std::poisson_distribution<int> draw(background + bright);
      std::poisson_distribution<int> draw_dark(std::max(background, 1e-9));
      for (auto k = static_cast<std::size_t>(1 + lasts(random)); k > 0; --k)
        counts.push_back(on ? draw(random) : draw_dark(random));
    }
    counts.resize(kTraceSteps);
    const bool stops = !stopped_steps(counts, 1).empty();
    if (background > 0) {
      EXPECT_FALSE(stops) << bright << " and " << background << " counts a step";
      continue;
    }
    named += stops ? 1 : 0;
    often += times_dark > 20 ? 1 : 0;
    named_often += times_dark > 20 && stops ? 1 : 0;
  }
  std::printf("named: %zu of 1000, %zu of %zu that were dark more than 20 times\n", named,
              named_often, often);
  EXPECT_LT(named_often * 20, often);
}

TEST(EmptyCounts, CountsThatNeverChange) {
  auto random = tests::generator();
  auto counts = steps_of_noise(random, 900);
  EXPECT_TRUE(constant_steps(counts, 300).empty());
  counts[399] = 899, counts[500] = 901;
  std::fill_n(counts.begin() + 400, 100, 900.0);
  EXPECT_EQ(constant_steps(counts, 300), (std::vector<StepRange>{{400, 500}}));
  EXPECT_TRUE(constant_steps(counts, 400).empty()) << "2.25 in every bin";
}

// A lone emitter is in front of one sensor, and a part without stops can be chosen where these are few.
TEST(EmptyCounts, WordsAreOfSensorsThatStopTogetherAndOfManyStops) {
  const auto words = [](std::uint64_t sensors, std::int64_t stops) {
    EmptyCountsFound found;
    for (std::int64_t k = 0; k < stops; ++k)
      found.stretches.push_back(
          {.sensors = sensors, .names = {}, .first_sample = 100 * k, .samples = 10});
    const auto warnings = empty_warnings(found, 1e-3);
    return warnings.size() == 1 ? warnings[0] : "";
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(words(1, 2), "lone emitter"));
  EXPECT_TRUE(says(words(1, 2), "`duration_s` choose"));
  EXPECT_FALSE(says(words(16, 2), "lone emitter"));
  EXPECT_TRUE(says(words(16, 2), "This bends the curves; `start_s`"));
  EXPECT_TRUE(says(words(16, 60), "This bends the curves"));
  EXPECT_FALSE(says(words(16, 60), "`duration_s`"));
}

}  // namespace
}  // namespace tautline::pipeline
