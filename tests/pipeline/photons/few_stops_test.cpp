// A few stops of all sensors, of tens of milliseconds at any times: named, but not the dark times of few molecules.
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

// Of molecules that are seldom in the focus, fast and slow.
TEST(FewStops, AreNoDarkTimesOfFewMolecules) {
  auto random = tests::generator();
  for (const double n : {0.02, 0.05, 0.1})
    for (const double tau_s : {2e-4, 5e-3})
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

}  // namespace tautline::pipeline
