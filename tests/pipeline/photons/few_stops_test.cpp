// A few stops of all sensors, of tens of milliseconds at any times, also with dark counts: named, but not the dark times of
// few molecules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/photons/count_stops.h"
#include "tautline/pipeline/photons/photon_steps.h"
#include "tautline/pipeline/simulation/photon_source.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr double kTick_s = 1e-6;

using Ticks = std::vector<std::uint64_t>;

Ticks poisson_photons(double rate_hz, double seconds, std::mt19937_64& random) {
  std::exponential_distribution<double> apart(rate_hz * kTick_s);
  Ticks all;
  for (double at = apart(random); at < seconds / kTick_s; at += apart(random))
    all.push_back(static_cast<std::uint64_t>(at));
  return all;
}

Ticks diffusion(double n, double tau_s, double rate_hz, double background_hz, double seconds,
                std::mt19937_64& random) {
  constexpr std::uint64_t kTicksOfStep = 20;
  simulation::PhotonModel model;
  model.species = {{n, tau_s, rate_hz}};
  model.background_hz = background_hz;
  simulation::PhotonSource source(model, 0, kTicksOfStep * kTick_s, kTicksOfStep, random(), 0);
  const auto end = static_cast<std::uint64_t>(seconds / kTick_s);
  Ticks all;
  std::vector<simulation::SourcePhoton> block;
  for (std::uint64_t at = 0; at < end; at += kTicksOfStep * simulation::PhotonSource::kBlockSteps) {
    source.next(block);
    for (const auto& photon : block)
      if (photon.time < end) all.push_back(photon.time);
  }
  return all;
}

// Takes out the photons of so many stops of 20 to 50 ms, one in each part of the run; gives the stretches without a photon.
std::vector<BinRange> stop(Ticks& photons, std::size_t stops, double seconds,
                           std::mt19937_64& random) {
  std::uniform_real_distribution<double> length_s(0.02, 0.05), place(0.1, 0.8);
  std::vector<BinRange> found;
  for (std::size_t k = 0; k < stops; ++k) {
    const double part = seconds / static_cast<double>(stops);
    const double from = (static_cast<double>(k) + place(random)) * part;
    const auto first = static_cast<std::uint64_t>(from / kTick_s);
    const auto end = static_cast<std::uint64_t>((from + length_s(random)) / kTick_s);
    std::erase_if(photons, [&](std::uint64_t t) { return t >= first && t < end; });
    const auto next = std::ranges::lower_bound(photons, first);
    found.push_back({*(next - 1) + 1, *next});
  }
  return found;
}

// The same of 20 to 200 ms, in which dark counts go on; gives the stops.
std::vector<BinRange> dim(Ticks& photons, std::size_t stops, double seconds, double dark_hz,
                          std::mt19937_64& random) {
  std::uniform_real_distribution<double> length_s(0.02, 0.2), place(0.1, 0.8);
  std::exponential_distribution<double> apart(dark_hz * kTick_s);
  std::vector<BinRange> found;
  Ticks dark;
  for (std::size_t k = 0; k < stops; ++k) {
    const double part = seconds / static_cast<double>(stops);
    const double from = (static_cast<double>(k) + place(random)) * part;
    const auto first = static_cast<std::uint64_t>(from / kTick_s);
    const auto end = static_cast<std::uint64_t>((from + length_s(random)) / kTick_s);
    std::erase_if(photons, [&](std::uint64_t t) { return t >= first && t < end; });
    for (double at = apart(random); at < static_cast<double>(end - first); at += apart(random))
      dark.push_back(first + static_cast<std::uint64_t>(at));
    found.push_back({first, end});
  }
  photons.insert(photons.end(), dark.begin(), dark.end());
  std::ranges::sort(photons);
  return found;
}

// To four milliseconds at each end.
void expect_near(const std::vector<BinRange>& found, const std::vector<BinRange>& expected,
                 double unit_s = kTick_s) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_NEAR(static_cast<double>(found[k].first) * unit_s,
                static_cast<double>(expected[k].first) * unit_s, 0.004);
    EXPECT_NEAR(static_cast<double>(found[k].end) * unit_s,
                static_cast<double>(expected[k].end) * unit_s, 0.004);
  }
}

Stops stops_of(const Ticks& photons, double seconds) {
  PhotonSteps steps(kTick_s);
  for (const std::uint64_t tick : photons) steps.add(tick);
  return steps.stops(static_cast<std::uint64_t>(seconds / kTick_s), 1, kTick_s, 1);
}

}  // namespace

TEST(FewStops, OfTensOfMillisecondsAreNamed) {
  auto random = tests::generator();
  constexpr double kSeconds = 20;
  for (const double rate_hz : {1e4, 1e5})
    for (const std::size_t stops : {1, 2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << rate_hz << " Hz, " << stops << " stops");
      Ticks photons = poisson_photons(rate_hz, kSeconds, random);
      const auto expected = stop(photons, stops, kSeconds, random);
      const Stops found = stops_of(photons, kSeconds);
      EXPECT_EQ(found.named, expected);
      EXPECT_TRUE(found.left_out.empty());
    }
}

TEST(FewStops, AreNamedInDiffusion) {
  auto random = tests::generator();
  constexpr double kSeconds = 4;
  for (const double background_hz : {0.0, 500.0}) {
    SCOPED_TRACE(background_hz);
    Ticks photons = diffusion(0.3, 1e-4, 5e4, background_hz, kSeconds, random);
    const auto expected = stop(photons, 3, kSeconds, random);
    EXPECT_EQ(stops_of(photons, kSeconds).named, expected);
  }
}

TEST(FewStops, WithDarkCountsAreNamed) {
  auto random = tests::generator();
  constexpr double kSeconds = 20;
  struct Light {
    double rate_hz, dark_hz;
  };
  for (const auto& [rate_hz, dark_hz] :
       {Light{2e4, 100}, {2e4, 1000}, {2e4, 2000}, {2e5, 100}, {2e5, 2000}})
    for (const std::size_t stops : {1, 3, 8}) {
      SCOPED_TRACE(testing::Message() << rate_hz << " and " << dark_hz << " Hz, " << stops);
      Ticks photons = poisson_photons(rate_hz, kSeconds, random);
      const auto expected = dim(photons, stops, kSeconds, dark_hz, random);
      const Stops found = stops_of(photons, kSeconds);
      expect_near(found.named, expected);
      EXPECT_TRUE(found.dark_counts);
      EXPECT_TRUE(found.left_out.empty());
    }
}

// Of one molecule and of three on average; photons of one detector after those of another, too. Where the shortest stop
// is not twice as long as the light's own dark times, and each other not twice as long as the next, none is found: in one
// run in six.
TEST(FewStops, WithDarkCountsAreNamedInDiffusion) {
  auto random = tests::generator();
  constexpr double kSeconds = 5;
  constexpr std::size_t kRuns = 10, kStops = 4;
  std::size_t named = 0;
  for (std::size_t run = 0; run < kRuns; ++run) {
    const double n = run % 2 == 0 ? 1 : 3;
    SCOPED_TRACE(n);
    Ticks photons = diffusion(n, 2e-4, 1e5, 500, kSeconds, random);
    const auto expected = dim(photons, kStops, kSeconds, 500, random);
    const Stops found = stops_of(photons, kSeconds);
    named += found.named.size();
    EXPECT_LE(found.named.size(), kStops);
    if (found.named.size() == kStops) expect_near(found.named, expected);
    EXPECT_TRUE(found.dark_counts || found.named.empty());
    Ticks halves[2];
    for (const std::uint64_t tick : photons) halves[random() % 2].push_back(tick);
    PhotonSteps of_two(kTick_s);
    for (const Ticks& half : halves) of_two.add_all(half);
    const Stops same = of_two.stops(static_cast<std::uint64_t>(kSeconds / kTick_s), 1, kTick_s, 2);
    EXPECT_EQ(same.named, found.named);
  }
  EXPECT_GE(named, kRuns * kStops / 4);  // fewer once in a million times
}

// Of a run that has more steps than are kept.
TEST(FewStops, WithDarkCountsAreNamedInLongRuns) {
  auto random = tests::generator();
  constexpr double kSeconds = 300;
  Ticks photons = poisson_photons(5e3, kSeconds, random);
  const auto expected = dim(photons, 40, kSeconds, 50, random);
  const Stops found = stops_of(photons, kSeconds);
  EXPECT_TRUE(found.dark_counts);
  EXPECT_GE(found.named.size(), 30u);  // not the shortest
  for (const BinRange& one : found.named)
    EXPECT_TRUE(std::ranges::any_of(expected, [&](const BinRange& stop) {
      return one.first < stop.end && stop.first < one.end;
    })) << one.first;
}

// Nor of a dye that bleaches, of constant light, and of a lamp that is dimmed.
TEST(FewStops, AreNotSeenInLightThatChanges) {
  auto random = tests::generator();
  constexpr double kSeconds = 20;
  std::uniform_real_distribution<double> part;
  for (const double rate_hz : {1e3, 1e4, 1e5})
    for (const double kept : {1.0, 0.1}) {
      Ticks photons = poisson_photons(rate_hz, kSeconds, random);
      std::erase_if(photons, [&](std::uint64_t tick) {
        return part(random) > std::pow(kept, static_cast<double>(tick) * kTick_s / kSeconds);
      });
      EXPECT_TRUE(stops_of(photons, kSeconds).named.empty()) << rate_hz << " " << kept;
      std::erase_if(photons, [&](std::uint64_t tick) {
        return part(random) > (tick % 3'000'000 < 200'000 ? 0.5 : 1);
      });
      EXPECT_TRUE(stops_of(photons, kSeconds).named.empty()) << rate_hz << " " << kept;
    }
}

// Of molecules that are seldom in the focus, fast and slow.
TEST(FewStops, AreNoDarkTimesOfFewMolecules) {
  auto random = tests::generator();
  for (const double n : {0.02, 0.05, 0.1, 0.3, 1.0})
    for (const double tau_s : {2e-4, 1e-3, 1e-2})
      for (const double background_hz : {0.0, 300.0}) {
        const Stops found = stops_of(diffusion(n, tau_s, 2e4, background_hz, 4, random), 4);
        EXPECT_TRUE(found.named.empty()) << n << " " << tau_s << " " << background_hz;
      }
}

// The same in files of counts, to the bin.
TEST(FewStops, OfCountsAreNamed) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 100'000;
  constexpr double kBin_s = 1e-4;
  std::poisson_distribution<int> draw(3);
  std::vector<std::uint8_t> counts(kSamples);
  for (auto& count : counts) count = static_cast<std::uint8_t>(draw(random));
  std::vector<BinRange> expected;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const std::uint64_t first = 30'000 * k + 1000 + random() % 20'000;
    BinRange one{first, first + 200 + random() % 300};
    std::fill(counts.begin() + static_cast<std::ptrdiff_t>(one.first),
              counts.begin() + static_cast<std::ptrdiff_t>(one.end), 0);
    while (counts[one.first - 1] == 0) --one.first;
    while (counts[one.end] == 0) ++one.end;
    expected.push_back(one);
  }
  const core::View<const std::uint8_t, 2> view(counts.data(), {kSamples, 1});
  const Stops found = find_stops(
      [&] { return formats::open_memory_counts(view, {.format = "memory"}); }, 0, kSamples, kBin_s);
  EXPECT_EQ(found.named, expected);
  EXPECT_TRUE(found.left_out.empty());
}

// Of one sensor and of many, whose dark counts together are many.
TEST(FewStops, OfCountsWithDarkCountsAreNamed) {
  auto random = tests::generator();
  constexpr double kBin_s = 2e-5;
  for (const std::size_t sensors : {1, 32}) {
    SCOPED_TRACE(sensors);
    const std::size_t samples = 400'000;
    std::uniform_int_distribution<std::uint64_t> length(1000, 5000), place(1000, 90'000);
    std::vector<BinRange> expected;
    for (std::uint64_t k = 0; k < 4; ++k) {
      const std::uint64_t first = 100'000 * k + place(random);
      expected.push_back({first, first + length(random)});
    }
    std::poisson_distribution<int> light(1), dark(0.01);
    std::vector<std::uint8_t> counts(samples * sensors);
    for (std::size_t t = 0; t < samples; ++t) {
      const bool stops = std::ranges::any_of(
          expected, [&](const BinRange& one) { return t >= one.first && t < one.end; });
      for (std::size_t s = 0; s < sensors; ++s)
        counts[t * sensors + s] = static_cast<std::uint8_t>(stops ? dark(random) : light(random));
    }
    const core::View<const std::uint8_t, 2> view(counts.data(), {samples, sensors});
    const Stops found =
        find_stops([&] { return formats::open_memory_counts(view, {.format = "memory"}); }, 0,
                   samples, kBin_s);
    expect_near(found.named, expected, kBin_s);
    EXPECT_TRUE(found.dark_counts);
    EXPECT_TRUE(found.left_out.empty());
  }
}

}  // namespace tautline::pipeline
