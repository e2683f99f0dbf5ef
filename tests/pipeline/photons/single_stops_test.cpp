// Stops of one of several sensors that come again and again: found to the bin and named; not where a lone emitter in
// front of the sensor blinks.
#include "tautline/pipeline/photons/single_stops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tautline/formats/curves/curves.h"
#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/count_stops.h"
#include "tautline/pipeline/photons/photon_steps.h"
#include "tests/pipeline/photons/count_files.h"

namespace tautline::pipeline {
namespace {

class SingleStops : public ::testing::Test {
 protected:
  static constexpr double kBin_s = 1e-3;

  static Stops stops_of(const std::vector<std::uint8_t>& counts, std::size_t sensors,
                        double bin_s = kBin_s, bool of_each = true) {
    const core::View<const std::uint8_t, 2> view(counts.data(), {counts.size() / sensors, sensors});
    return find_stops([&] { return formats::open_memory_counts(view, {.format = "memory"}); }, 0,
                      counts.size() / sensors, bin_s, of_each);
  }
  // Empties a sensor's bins, and gives the stretch without a count that they are part of.
  static BinRange stop(std::vector<std::uint8_t>& counts, std::size_t sensors, std::size_t sensor,
                       BinRange bins) {
    const auto at = [&](std::uint64_t bin) -> std::uint8_t& {
      return counts[static_cast<std::size_t>(bin) * sensors + sensor];
    };
    for (std::uint64_t bin = bins.first; bin < bins.end; ++bin) at(bin) = 0;
    while (at(bins.first - 1) == 0) --bins.first;
    while (at(bins.end) == 0) ++bins.end;
    return bins;
  }
};

// Of one stream or of detectors one after the other; sensors are in the order of channels that are asked for.
TEST_F(SingleStops, OfADetectorAreFoundToTheBin) {
  auto random = tests::generator();
  constexpr double kTick_s = 1e-6;
  constexpr std::uint64_t kPeriod = 700'000;
  const std::uint64_t phase = 60'000 + random() % 400'000;
  // Short ones in bright light.
  for (const std::uint64_t length : {50'000, 3'000}) {
    const double photons_per_tick = length > 10'000 ? 0.02 : 0.2, run_ticks = 12e6;
    std::exponential_distribution<double> between(photons_per_tick);
    PhotonSteps steps(kTick_s), in_turn(kTick_s);
    std::vector<std::uint64_t> each[2];
    std::vector<BinRange> expected;
    std::uint64_t last = 0;
    for (double time = 0; time < run_ticks; time += between(random)) {
      const auto tick = static_cast<std::uint64_t>(time);
      const std::size_t detector = random() % 2;
      if (detector == 1) {
        if ((tick + phase) % kPeriod < length) continue;
        if (tick > last + length / 2) expected.push_back({last / 10 + 1, tick / 10});
        last = tick;
      }
      steps.add(tick, detector == 1 ? 3 : 7);
      each[detector].push_back(tick);
    }
    in_turn.add_all(each[0], 7);
    in_turn.add_all(each[1], 3);
    const std::uint64_t ticks = std::max(each[0].back(), each[1].back()) + 1;
    for (PhotonSteps* one : {&steps, &in_turn})
      for (const std::uint32_t place : {0U, 1U}) {
        const std::vector<std::uint16_t> channels =
            place == 0 ? std::vector<std::uint16_t>{3, 7} : std::vector<std::uint16_t>{7, 3};
        const Stops found = one->stops(ticks, 10, 10 * kTick_s, 2, channels);
        EXPECT_TRUE(found.left_out.empty());
        EXPECT_TRUE(found.named.empty());
        EXPECT_EQ(found.single, (std::vector<SensorStops>{{place, expected}})) << length;
        EXPECT_TRUE(one->stops(ticks, 10, 10 * kTick_s, 2).single.empty());
      }
  }
}

// Stops of all detectors are not those of each.
TEST_F(SingleStops, OfAllDetectorsAreNone) {
  auto random = tests::generator();
  constexpr double kTick_s = 1e-6;
  constexpr std::uint64_t kTicks = 40'000'000, kPeriod = 700'000, kLength = 50'000;
  std::exponential_distribution<double> between(0.02);
  PhotonSteps steps(kTick_s);
  std::uint64_t last = 0;
  for (double time = 0; time < static_cast<double>(kTicks); time += between(random)) {
    const auto tick = static_cast<std::uint64_t>(time);
    if ((tick + kPeriod / 2) % kPeriod < kLength) continue;
    steps.add(last = tick, random() % 2);
  }
  const Stops found = steps.stops(last + 1, 10, 10 * kTick_s, 2, std::vector<std::uint16_t>{0, 1});
  EXPECT_GT(found.left_out.size(), 50u);
  EXPECT_TRUE(found.single.empty());
}

TEST_F(SingleStops, OfCountsAreFoundToTheBin) {
  auto random = tests::generator();
  for (const std::size_t sensors : {2, 5, 16}) {
    constexpr std::size_t kSamples = 40'000;
    auto counts = tests::poisson(kSamples * sensors, 1.5);
    const std::size_t sensor = random() % sensors, other = (sensor + 1) % sensors;
    SensorStops one{static_cast<std::uint32_t>(sensor), {}},
        second{static_cast<std::uint32_t>(other), {}};
    for (std::uint64_t t = 100 + random() % 500; t + 500 < kSamples; t += 1000) {
      one.stops.push_back(stop(counts, sensors, sensor, {t, t + 60}));
      if (sensors > 2)  // while the first one counts, and while it does not
        second.stops.push_back(stop(counts, sensors, other, {t + 30, t + 120}));
    }
    std::vector<SensorStops> expected{one};
    if (sensors > 2) expected.push_back(second);
    std::sort(expected.begin(), expected.end(),
              [](const auto& a, const auto& b) { return a.sensor < b.sensor; });
    const Stops found = stops_of(counts, sensors);
    EXPECT_EQ(found.single, expected) << sensors;
    EXPECT_TRUE(found.left_out.empty());
    EXPECT_TRUE(found.named.empty());
    EXPECT_TRUE(stops_of(counts, sensors, kBin_s, false).single.empty());
  }
}

// More than is read again in any case.
TEST_F(SingleStops, OfLargeFilesAreFoundToTheBin) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 36'000'000;
  std::vector<std::uint8_t> counts(2 * kSamples);
  for (std::size_t k = 0; k + 8 <= counts.size(); k += 8) {
    const std::uint64_t bits = random();
    for (std::size_t n = 0; n < 8; ++n) counts[k + n] = bits >> n & 1;
  }
  EXPECT_TRUE(stops_of(counts, 2, 1e-6).single.empty());
  SensorStops expected{1, {}};
  for (std::uint64_t t = 1000 + random() % 100'000; t + 50'000 < kSamples; t += 777'777)
    expected.stops.push_back(stop(counts, 2, 1, {t, t + 20'000}));
  EXPECT_EQ(stops_of(counts, 2, 1e-6).single, std::vector<SensorStops>{expected});
}

// Of other lengths each time: only where a detector would have had a dark count.
TEST_F(SingleStops, OfManyLengthsAreNamedWhereThereWouldBeADarkCount) {
  auto random = tests::generator();
  constexpr std::size_t kSamples = 100'000;
  for (const bool often : {false, true}) {
    auto counts = tests::poisson(2 * kSamples, 2);
    SensorStops expected{0, {}};
    for (std::uint64_t t = 200 + random() % 500; t + 2000 < kSamples; t += often ? 1500 : 9000)
      expected.stops.push_back(stop(counts, 2, 0, {t, t + 90 + random() % 250}));
    EXPECT_EQ(stops_of(counts, 2).single,
              often ? std::vector<SensorStops>{expected} : std::vector<SensorStops>{});
  }
}

// Noise of every rate, bursts, and lone emitters that blink in front of one of two sensors, with and without light
// beside them.
TEST_F(SingleStops, FlickeringLightHasNone) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> share(0, 1);
  constexpr std::size_t kSamples = 40'000;
  for (int trial = 0; trial < 60; ++trial) {
    const double mean = std::pow(10.0, 3 * share(random) - 2.5);
    std::vector<std::uint8_t> counts = tests::poisson(2 * kSamples, mean);
    const auto of_first = [&](std::size_t t) -> std::uint8_t& { return counts[2 * t]; };
    if (trial % 3 == 1) {  // bursts
      for (std::size_t t = 0; t < kSamples; ++t) of_first(t) = 0;
      for (std::size_t n = 0; n < kSamples * mean / 50 + 10; ++n) {
        const std::size_t from = random() % kSamples, length = 1 + random() % 200;
        for (std::size_t t = from; t < std::min(kSamples, from + length); ++t)
          of_first(t) = static_cast<std::uint8_t>(of_first(t) % 100 + random() % 4);
      }
    } else if (trial % 3 == 2) {  // dark for times of exponential distribution
      std::exponential_distribution<double> on(1 / (50 + 2000 * share(random))),
          off(1 / (10 + 140 * share(random)));
      for (double t = 0; t < kSamples;) {
        t += on(random);
        const double end = std::min<double>(kSamples, t + off(random));
        for (; t < end; ++t) of_first(static_cast<std::size_t>(t)) = 0;
      }
    }
    EXPECT_TRUE(stops_of(counts, 2).single.empty()) << trial << ", " << mean;
    PhotonSteps steps(1e-6);
    for (std::size_t t = 0; t < kSamples; ++t)
      for (std::size_t n = 0; n < std::size_t{counts[2 * t]} + counts[2 * t + 1]; ++n)
        steps.add(1000 * t + n, n < counts[2 * t] ? 0 : 1);
    EXPECT_TRUE(steps.stops(1000 * kSamples, 1000, 1e-3, 2, std::vector<std::uint16_t>{0, 1})
                    .single.empty())
        << trial << ", " << mean;
  }
}

// In a warning, with their number, and by name for fits; the sums are those of all bins.
TEST_F(SingleStops, AreNamedAndStayInTheSums) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  constexpr std::size_t kSamples = 50'000;
  auto counts = tests::poisson(3 * kSamples, 2);
  std::vector<BinRange> stops;
  for (std::uint64_t t = 100 + random() % 700; t + 500 < kSamples; t += 1000)
    stops.push_back(stop(counts, 3, 1, {t, t + 100}));
  std::uint64_t missing = 0;
  for (const BinRange& one : stops) missing += one.bins();
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, 3));
  config.bin_s = kBin_s;
  AutocorrelateSummary summary;
  const auto device = device::open(device::parse_selection("cpu"), {});
  const auto curves = correlate_counts(config, device, summary);
  EXPECT_EQ(summary.empty.stopped, std::vector<std::string>{"sensor 1"});
  EXPECT_FALSE(summary.empty.all_stopped);
  EXPECT_EQ(summary.empty.samples, missing);
  ASSERT_EQ(summary.empty.stretches.size(), stops.size());
  for (std::size_t k = 0; k < stops.size(); ++k) {
    const EmptyCounts& one = summary.empty.stretches[k];
    EXPECT_EQ(one.names, std::vector<std::string>{"sensor 1"});
    EXPECT_FALSE(one.left_out);
    EXPECT_EQ(one.first_sample, static_cast<std::int64_t>(stops[k].first));
    EXPECT_EQ(one.samples, stops[k].bins());
  }
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_NE(summary.warnings[0].find(fmt::format(
                "counts stop, or never change: sensor 1 {} times, for {:.6g} s in all, first for "
                "{:.6g} s from {:.6g} s.",
                stops.size(), static_cast<double>(missing) * kBin_s,
                static_cast<double>(stops[0].bins()) * kBin_s,
                static_cast<double>(stops[0].first) * kBin_s)),
            std::string::npos)
      << summary.warnings[0];
  // Of a part that begins and ends inside stops, they are counted from the input's begin.
  const std::uint64_t begin = stops[3].first + 40, end = stops[25].first + 40;
  config.start_s = static_cast<double>(begin) * kBin_s;
  config.duration_s = static_cast<double>(end - begin) * kBin_s;
  correlate_counts(config, device, summary);
  ASSERT_FALSE(summary.empty.stretches.empty());
  EXPECT_EQ(summary.empty.stretches.front().first_sample, static_cast<std::int64_t>(begin));
  EXPECT_EQ(summary.empty.stretches.back().first_sample,
            static_cast<std::int64_t>(stops[25].first));
  config.start_s = 0;
  config.duration_s = -1;
  config.keep_constant = true;
  EXPECT_EQ(correlate_counts(config, device, summary).sums, curves.sums);
  EXPECT_TRUE(summary.empty.stretches.empty());
}

// Every file of curves says which sensors stopped, and when.
TEST_F(SingleStops, AreNotedInFilesOfCurves) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  constexpr std::size_t kSamples = 50'000;
  auto counts = tests::poisson(2 * kSamples, 2);
  std::vector<BinRange> stops;
  for (std::uint64_t t = 100 + random() % 700; t + 500 < kSamples; t += 1000)
    stops.push_back(stop(counts, 2, 1, {t, t + 100}));
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, 2));
  config.bin_s = kBin_s;
  const auto device = device::open(device::parse_selection("cpu"), {});
  std::vector<std::string> names{"g.csv", "g.table.csv"};
#ifdef TAUTLINE_ZIP
  names.push_back("g.zip");
#endif
#ifdef TAUTLINE_HDF5
  names.push_back("g.h5");
#endif
  for (const std::string& name : names) {
    config.output = scratch / name;
    config.sensors.pairs = name.ends_with(".csv") ? "0x1" : SensorConfig().pairs;
    autocorrelate_counts(config, device);
    const formats::curves::CurveFile file = formats::curves::read(config.output);
    const NotedStopped stopped(file.facts);
    EXPECT_TRUE(stopped.contains("sensor 1")) << name;
    EXPECT_FALSE(stopped.contains("sensor 0")) << name;
    EXPECT_NE(noted_stops(file.facts).find("sensor 1"), std::string::npos) << name;
    const std::vector<EmptyCounts> noted = noted_stretches(file.facts);
    ASSERT_EQ(noted.size(), stops.size()) << name;
    for (std::size_t k = 0; k < stops.size(); ++k) {
      EXPECT_EQ(noted[k].sensors, 1u);
      EXPECT_EQ(noted[k].names, std::vector<std::string>{"sensor 1"});
      EXPECT_EQ(noted[k].first_sample, static_cast<std::int64_t>(stops[k].first));
      EXPECT_EQ(noted[k].samples, stops[k].bins());
      EXPECT_FALSE(noted[k].left_out);
    }
    const core::CorrelationCurve& last = file.curves.back();
    EXPECT_EQ(last.cross ? last.second.label : last.first.label, "sensor 1") << name;
  }
}

// Too many sensors to be looked at one by one: in whole steps of the trace, which are 40 bins.
TEST_F(SingleStops, OfManySensorsAreFoundInSteps) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  constexpr std::size_t kSamples = 40'000, kSensors = 20, kStep = 40;
  auto counts = tests::poisson(kSamples * kSensors, 2);
  const std::size_t sensor = random() % kSensors;
  std::vector<BinRange> stops;
  for (std::uint64_t t = 100 + random() % 700; t + 1500 < kSamples; t += 3000)
    stops.push_back(stop(counts, kSensors, sensor, {t, t + 500}));
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, kSensors));
  config.bin_s = kBin_s;
  AutocorrelateSummary summary;
  const auto device = device::open(device::parse_selection("cpu"), {});
  correlate_counts(config, device, summary);
  EXPECT_EQ(summary.empty.stopped, std::vector<std::string>{fmt::format("sensor {}", sensor)});
  ASSERT_EQ(summary.empty.stretches.size(), stops.size());
  for (std::size_t k = 0; k < stops.size(); ++k) {
    const EmptyCounts& one = summary.empty.stretches[k];
    EXPECT_LT(static_cast<std::uint64_t>(one.first_sample) - stops[k].first, kStep);
    EXPECT_LT(stops[k].end - (static_cast<std::uint64_t>(one.first_sample) + one.samples), kStep);
  }
}

}  // namespace
}  // namespace tautline::pipeline
