// Stops of all sensors that come again and again: found to the bin, left out and named once; not where light flickers.
#include "tautline/pipeline/photons/repeated_stops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/count_input.h"
#include "tautline/pipeline/photons/count_stops.h"
#include "tautline/pipeline/photons/photon_steps.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

using tests::poisson;

constexpr double kBin_s = 1e-3;

Stops stops_of(const std::vector<std::uint8_t>& counts, std::size_t sensors) {
  const core::View<const std::uint8_t, 2> view(counts.data(), {counts.size() / sensors, sensors});
  return find_stops([&] { return formats::open_memory_counts(view, {.format = "memory"}); }, 0,
                    counts.size() / sensors, kBin_s);
}

bool is_empty(const std::vector<std::uint8_t>& counts, std::size_t sensors, std::uint64_t bin) {
  const auto row = counts.begin() + static_cast<std::ptrdiff_t>(bin * sensors);
  return std::all_of(row, row + static_cast<std::ptrdiff_t>(sensors),
                     [](std::uint8_t n) { return n == 0; });
}

// Empties the bins, and gives the stretch without a count that they are part of.
BinRange stop(std::vector<std::uint8_t>& counts, std::size_t sensors, BinRange bins) {
  const std::uint64_t samples = counts.size() / sensors;
  std::fill(counts.begin() + static_cast<std::ptrdiff_t>(bins.first * sensors),
            counts.begin() + static_cast<std::ptrdiff_t>(bins.end * sensors), 0);
  while (bins.first > 0 && is_empty(counts, sensors, bins.first - 1)) --bins.first;
  while (bins.end < samples && is_empty(counts, sensors, bins.end)) ++bins.end;
  return bins;
}

}  // namespace

// Of every period, also of whole steps (a thousandth of the run); the run begins in a stop.
TEST(RepeatedStops, AreFoundToTheBin) {
  auto random = tests::generator();
  struct Case {
    std::size_t sensors;
    double mean;
    std::uint64_t samples, length, period;
  };
  for (const Case& c : {Case{4, 0.5, 60'000, 100, 1000}, Case{1, 2, 400'000, 60, 1200},
                        Case{1, 2, 400'000, 90, 997}, Case{30, 0.05, 100'000, 100, 500},
                        Case{1, 3, 100'000, 30, 400}}) {
    SCOPED_TRACE(fmt::format("{} sensors, {} of {} bins", c.sensors, c.length, c.period));
    auto counts = poisson(c.samples * c.sensors, c.mean);
    std::vector<BinRange> expected{stop(counts, c.sensors, {0, c.length / 2})};
    for (std::uint64_t t = c.length + random() % (c.period - 2 * c.length);
         t + c.length < c.samples; t += c.period)
      expected.push_back(stop(counts, c.sensors, {t, t + c.length}));
    const Stops found = stops_of(counts, c.sensors);
    EXPECT_EQ(found.left_out, expected);
    EXPECT_TRUE(found.named.empty());
  }
}

// Ten of one length, too short for the dark counts of one sensor, of which one begins or ends with the run, or both do.
TEST(RepeatedStops, OfOneLengthAtTheEndsOfTheRunCount) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 20'000, kPeriod = 2000, kBins = 100;
  for (const bool begins : {true, false})
    for (const bool ends : {true, false})
      for (const std::size_t stops : {9, 10}) {
        SCOPED_TRACE(fmt::format("{} stops, {} {}", stops, begins, ends));
        auto counts = poisson(kSamples, 4);
        std::vector<BinRange> expected;
        const std::size_t inside = stops - (begins ? 1 : 0) - (ends ? 1 : 0);
        if (begins) expected.push_back(stop(counts, 1, {0, kBins}));
        for (std::size_t k = 0; k < inside; ++k) {
          const std::size_t first = 300 + k * (kPeriod - 100) + random() % 1000;
          expected.push_back(stop(counts, 1, {first, first + kBins}));
        }
        if (ends) expected.push_back(stop(counts, 1, {kSamples - kBins, kSamples}));
        const Stops found = stops_of(counts, 1);
        EXPECT_EQ(stops == 10 ? found.left_out : found.named, expected);
        EXPECT_TRUE((stops == 10 ? found.named : found.left_out).empty());
      }
}

// A part of a stop is of any length, and tells nothing.
TEST(RepeatedStops, OfWhichOneIsCutShortByTheRunsBeginDoNotCountIt) {
  auto random = tests::generator();
  auto counts = poisson(20'000, 4);
  std::vector<BinRange> expected{stop(counts, 1, {0, 40 + random() % 20})};
  for (std::size_t k = 0; k < 9; ++k) {
    const std::size_t first = 300 + k * 2000 + random() % 1000;
    expected.push_back(stop(counts, 1, {first, first + 100}));
  }
  const Stops found = stops_of(counts, 1);
  EXPECT_EQ(found.named, expected);
  EXPECT_TRUE(found.left_out.empty());
}

// The sums are those of the parts between, and one warning has them all.
TEST(RepeatedStops, AreLeftOutAndNamedOnce) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  constexpr std::size_t kSamples = 50'000, kLength = 100, kPeriod = 1000;
  auto counts = poisson(kSamples, 2);
  std::vector<BinRange> stops;
  for (std::size_t t = 100 + random() % 700; t + kLength < kSamples; t += kPeriod)
    stops.push_back(stop(counts, 1, {t, t + kLength}));
  std::uint64_t missing = 0;
  for (const BinRange& one : stops) missing += one.bins();
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, 1));
  config.bin_s = kBin_s;
  config.levels = 1;
  AutocorrelateSummary summary;
  const auto device = device::open(device::parse_selection("cpu"), {});
  const auto curves = correlate_counts(config, device, summary);
  EXPECT_EQ(curves.samples, kSamples - missing);
  EXPECT_EQ(summary.empty.samples, missing);
  EXPECT_EQ(summary.empty.stretches.size(), stops.size());
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_NE(summary.warnings[0].find(fmt::format(
                "the sensor {} times, for {:.6g} s in all, first for {:.6g} s from {:.6g} s",
                stops.size(), static_cast<double>(missing) * kBin_s,
                static_cast<double>(stops[0].bins()) * kBin_s,
                static_cast<double>(stops[0].first) * kBin_s)),
            std::string::npos)
      << summary.warnings[0];
  for (std::size_t l = 0; l < curves.lags; ++l) {
    const std::uint64_t lag = curves.lag_samples[l];
    std::int64_t sum = 0, pairs = 0;
    std::uint64_t first = 0;
    for (std::size_t k = 0; k <= stops.size(); ++k) {
      const std::uint64_t end = k < stops.size() ? stops[k].first : kSamples;
      for (std::uint64_t t = first; t + lag < end; ++t, ++pairs) sum += counts[t] * counts[t + lag];
      if (k < stops.size()) first = stops[k].end;
    }
    EXPECT_EQ(curves.sums[l], sum) << lag;
    EXPECT_EQ(curves.counts[l], pairs) << lag;
  }
  config.keep_constant = true;
  const auto kept = correlate_counts(config, device, summary);
  EXPECT_TRUE(summary.warnings.empty());
  EXPECT_GT(kept.g[5], curves.g[5] + 0.05);  // a tenth of the time is dark: 0.11
}

// Less than a thousandth of the time.
TEST(RepeatedStops, ThatAreRareAreFoundToTheBin) {
  auto random = tests::generator();
  auto counts = poisson(400'000, 3);
  std::vector<BinRange> expected;
  for (std::size_t t = 1000 + random() % 20'000; t + 1000 < counts.size(); t += 33'000)
    expected.push_back(stop(counts, 1, {t, t + 30}));
  const Stops found = stops_of(counts, 1);
  EXPECT_EQ(found.left_out, expected);
  EXPECT_TRUE(found.named.empty());
}

// Of one length, in light whose flickering would explain stretches of any.
TEST(RepeatedStops, OfOneLengthInFlickeringLightAreNamed) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 100'000, kBlock = 20;
  std::vector<std::uint8_t> counts(kSamples);
  std::poisson_distribution<int> dim(3), bright(60);
  for (std::size_t t = 0; t < kSamples; t += kBlock) {
    const bool burst = random() % 10 == 0;
    for (std::size_t k = t; k < t + kBlock; ++k)
      counts[k] = static_cast<std::uint8_t>(burst ? bright(random) : dim(random));
  }
  std::vector<BinRange> expected;
  for (std::size_t t = 500 + random() % 500; t + 500 < kSamples; t += 1500)
    expected.push_back(stop(counts, 1, {t, t + 60}));
  const Stops found = stops_of(counts, 1);
  EXPECT_EQ(found.named, expected);
  EXPECT_TRUE(found.left_out.empty());
}

// Bursts of light, between which no count comes for up to a third of a stop: stops of one length need no more distance
// from these, at random times and at even ones.
TEST(RepeatedStops, OfOneLengthNeedBeTwiceAsLongAsOtherStretches) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 200'000, kDark = 35, kLength = 100, kPeriod = 2000;
  for (const bool even : {false, true}) {
    auto counts = poisson(kSamples, 3);
    for (std::size_t t = 300; t + 300 < kSamples; t += 200 + random() % 200)
      std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(t), random() % kDark, 0);
    std::vector<BinRange> expected;
    for (std::size_t t = 1000; t + kPeriod < kSamples; t += kPeriod) {
      const std::size_t first = t + (even ? 0 : random() % 1000);
      // Dark stretches beside a stop would make it longer.
      counts[first - 1] = counts[first + kLength] = 1;
      expected.push_back(stop(counts, 1, {first, first + kLength}));
    }
    Stops found = stops_of(counts, 1);
    found.named.insert(found.named.end(), found.left_out.begin(), found.left_out.end());
    EXPECT_EQ(found.named, expected) << even;
  }
}

// The light may be modulated: they are named and stay. In bins, and of time tags.
TEST(RepeatedStops, OfAFewMillisecondsAreNamed) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 100'000, kTicksOfBin = 100;
  const std::size_t period = 1500 + random() % 500, length = 3 + random() % 6;
  auto counts = poisson(kSamples, 30);
  std::vector<BinRange> expected;
  for (std::size_t t = 1000; t + 1000 < kSamples; t += period)
    expected.push_back(stop(counts, 1, {t, t + length}));
  const Stops found = stops_of(counts, 1);
  EXPECT_EQ(found.named, expected);
  EXPECT_TRUE(found.left_out.empty());
  PhotonSteps steps(kBin_s / kTicksOfBin);
  for (std::size_t t = 0; t < kSamples; ++t)
    for (std::size_t n = 0; n < counts[t]; ++n)
      steps.add(t * kTicksOfBin + n * kTicksOfBin / counts[t]);
  const Stops of_tags = steps.stops(kSamples * kTicksOfBin, kTicksOfBin, kBin_s, 1);
  EXPECT_EQ(of_tags.named, expected);
  EXPECT_TRUE(of_tags.left_out.empty());
  // Also of many sensors, all of which would have dark counts.
  constexpr std::size_t kSensors = 400;
  auto many = poisson(20'000 * kSensors, 0.1);
  expected.clear();
  for (std::size_t t = 500; t + 500 < 20'000; t += 300)
    expected.push_back(stop(many, kSensors, {t, t + 9}));
  const Stops of_many = stops_of(many, kSensors);
  EXPECT_EQ(of_many.named, expected);
  EXPECT_TRUE(of_many.left_out.empty());
}

// Of other lengths each time, of which many sensors would have dark counts, and one sensor none.
TEST(RepeatedStops, OfManyLengthsAreLeftOutWhereDetectorsWouldHaveDarkCounts) {
  auto random = tests::generator();
  for (const std::size_t sensors : {1, 40}) {
    auto counts = poisson(100'000 * sensors, 2.0 / static_cast<double>(sensors));
    std::vector<BinRange> expected;
    for (std::size_t t = 200 + random() % 500; t + 1000 < 100'000; t += 2500 + random() % 900)
      expected.push_back(stop(counts, sensors, {t, t + 90 + random() % 250}));
    const Stops found = stops_of(counts, sensors);
    EXPECT_EQ(sensors == 1 ? found.named : found.left_out, expected) << sensors;
    EXPECT_TRUE((sensors == 1 ? found.left_out : found.named).empty()) << sensors;
  }
}

// Noise of every rate, bursts, and lone emitters that blink: nothing is left out; of noise nothing is named, either.
TEST(RepeatedStops, FlickeringLightHasNone) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> share(0, 1);
  constexpr std::size_t kSamples = 40'000;
  for (int trial = 0; trial < 90; ++trial) {
    const double mean = std::pow(10.0, 3 * share(random) - 2.5);
    std::vector<std::uint8_t> counts = poisson(kSamples, mean);
    if (trial % 3 == 1) {  // bursts
      std::fill(counts.begin(), counts.end(), 0);
      for (std::size_t n = 0; n < kSamples * mean / 50 + 10; ++n) {
        const std::size_t from = random() % kSamples, length = 1 + random() % 200;
        for (std::size_t t = from; t < std::min(kSamples, from + length); ++t)
          counts[t] = static_cast<std::uint8_t>(counts[t] % 100 + random() % 4);
      }
    } else if (trial % 3 == 2) {  // dark for times of exponential distribution
      std::exponential_distribution<double> on(1 / (50 + 2000 * share(random))),
          off(1 / (10 + 500 * share(random)));
      for (double t = 0; t < kSamples;) {
        t += on(random);
        const double end = std::min<double>(kSamples, t + off(random));
        for (; t < end; ++t) counts[static_cast<std::size_t>(t)] = 0;
      }
      // Dark counts: without one in 2.8 s, or at an end of the run, a much longer time than all others is left out.
      for (std::size_t t = 0; t < kSamples; t += 2500) counts[t] = 1;
      counts.back() = 1;
    }
    const Stops found = stops_of(counts, 1);
    EXPECT_TRUE(found.left_out.empty()) << trial << ", " << mean;
    if (trial % 3 == 0) {
      EXPECT_TRUE(found.named.empty()) << trial << ", " << mean;
    }
  }
}

// A shutter that opened late: the limit, half of the time that is left, is of the time behind it.
TEST(RepeatedStops, TakeHalfOfTheTimeAtMostInWhichThereIsLight) {
  auto random = tests::generator();
  constexpr std::uint64_t kTicks = 40'000'000, kPeriod = 500'000;
  std::exponential_distribution<double> between(0.01);
  for (const std::uint64_t closed : {12'000'000, 24'000'000})
    for (const std::uint64_t length : {200'000, 300'000}) {
      SCOPED_TRACE(fmt::format("{} of {} ticks from {}", length, kPeriod, closed));
      PhotonSteps steps(1e-6);
      std::vector<BinRange> expected;
      std::uint64_t last = 0;
      const std::uint64_t phase = random() % 100'000;
      for (double time = static_cast<double>(closed); time < kTicks; time += between(random)) {
        const auto tick = static_cast<std::uint64_t>(time);
        if ((tick + phase) % kPeriod >= kPeriod - length) continue;
        if (last == 0)
          expected.push_back({0, tick / 10});
        else if (tick > last + length / 2)
          expected.push_back({last / 10 + 1, tick / 10});
        last = tick;
        steps.add(tick);
      }
      if (2 * length > kPeriod) expected.resize(1);
      const Stops found = steps.stops(last + 1, 10, 1e-5, 2);
      EXPECT_EQ(found.left_out, expected);
      EXPECT_TRUE(found.named.empty());
    }
}

// Rolling curves keep all of them: those that no light source explains are named beside the others.
TEST(RepeatedStops, OfRollingCurvesAreAllNamed) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  auto counts = poisson(200'000, 2);
  for (std::size_t t = 500; t + 2000 < counts.size(); t += 8000 + random() % 500) {
    stop(counts, 1, {t, t + 90 + random() % 250});
    if (t % 40'000 < 8000)  // as a receiver that repeats its last count
      std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(t + 4000), 1500, 3);
  }
  const Stops found = stops_of(counts, 1);
  ASSERT_GT(found.left_out.size(), 3u);
  ASSERT_GT(found.named.size(), 15u);
  std::vector<BinRange> all = found.left_out;
  all.insert(all.end(), found.named.begin(), found.named.end());
  sort_by_time(all);
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, 1));
  config.bin_s = kBin_s;
  config.window_s = 20;
  const auto device = device::open(device::parse_selection("cpu"), {});
  const CountInput input = open_count_input(config, *device, {});
  EXPECT_TRUE(input.stops.empty());
  EXPECT_EQ(input.named_stops, all);
}

// Time tags, of one stream or of detectors one after the other.
TEST(RepeatedStops, OfTimeTagsAreFoundToTheBin) {
  auto random = tests::generator();
  constexpr double kTick_s = 1e-6;
  constexpr std::uint64_t kTicks = 40'000'000, kLength = 50'000, kPeriod = 700'000;
  std::exponential_distribution<double> between(0.01);
  PhotonSteps steps(kTick_s), of_two(kTick_s);
  std::vector<std::uint64_t> halves[2];
  std::vector<BinRange> expected;
  std::uint64_t last = 0;
  const std::uint64_t phase = kPeriod / 2;
  for (double time = 0; time < static_cast<double>(kTicks); time += between(random)) {
    const auto tick = static_cast<std::uint64_t>(time);
    if ((tick + phase) % kPeriod < kLength) continue;
    if (tick > last + kLength / 2) expected.push_back({last / 10 + 1, tick / 10});
    last = tick;
    steps.add(tick);
    halves[random() % 2].push_back(tick);
  }
  for (const auto& half : halves) of_two.add_all(half);
  for (PhotonSteps* one : {&steps, &of_two}) {
    const Stops found = one->stops(last + 1, 10, 10 * kTick_s, 2);
    EXPECT_EQ(found.left_out, expected);
    EXPECT_TRUE(found.named.empty());
  }
}

TEST(LongestGaps, KeepsTheLongestInBoundedMemory) {
  auto random = tests::generator();
  LongestGaps gaps(3);
  std::vector<std::uint64_t> lengths;
  std::uint64_t place = 0;
  for (std::size_t k = 0; k < 5 * LongestGaps::kMost; ++k) {
    const std::uint64_t length = random() % 1'000'000;
    gaps.add(place, place + length);
    lengths.push_back(length);
    place += length + 1;
  }
  EXPECT_LT(gaps.gaps().size(), 2 * LongestGaps::kMost);
  EXPECT_EQ(gaps.gaps().size(),
            static_cast<std::size_t>(std::count_if(lengths.begin(), lengths.end(),
                                                   [&](auto n) { return n >= gaps.least(); })));
}

// The surest stops: more of them than are kept, all of one length.
TEST(LongestGaps, OfOneLengthAreKept) {
  auto random = tests::generator();
  const std::uint64_t length = 100 + random() % 1000;
  LongestGaps gaps(3);
  for (std::size_t k = 0; k < 3 * LongestGaps::kMost; ++k)
    gaps.add(2 * k * length, (2 * k + 1) * length);
  EXPECT_GE(gaps.gaps().size(), LongestGaps::kMost);
  EXPECT_LT(gaps.gaps().size(), 2 * LongestGaps::kMost);
  EXPECT_EQ(gaps.least(), 3u);  // none was shorter
  // Longer ones take their places.
  for (std::size_t k = 0; k < 2 * LongestGaps::kMost; ++k)
    gaps.add((4 * k + (1 << 26)) * length, (4 * k + 2 + (1 << 26)) * length);
  EXPECT_GE(gaps.gaps().size(), LongestGaps::kMost);
  EXPECT_EQ(gaps.least(), 2 * length);
}

}  // namespace tautline::pipeline
