// Stops of all sensors inside a run: the sums, pairs and monitors of the parts on either side are added, to the bit.
#include "tautline/pipeline/photons/count_stops.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tautline/formats/memory/memory_readers.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/photon_steps.h"
#include "tests/pipeline/photons/count_files.h"
#include "tests/support/gpus.h"

namespace tautline::pipeline {
namespace {

using stages::autocorrelate::LagScheme;
using tests::poisson;

constexpr double kBin_s = 1e-3;

std::vector<std::uint8_t> stopped(std::vector<std::uint8_t> counts, std::size_t sensors,
                                  const BinRange& stop, std::uint8_t value) {
  std::fill(counts.begin() + static_cast<std::ptrdiff_t>(stop.first * sensors),
            counts.begin() + static_cast<std::ptrdiff_t>(stop.end * sensors), value);
  // The bins on either side have other counts.
  for (std::size_t s = 0; s < sensors; ++s)
    counts[(stop.first - 1) * sensors + s] = counts[stop.end * sensors + s] =
        static_cast<std::uint8_t>(value + 1);
  return counts;
}

template <class Value>
std::vector<Value> added(std::vector<Value> a, const std::vector<Value>& b) {
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

void expect_parts_added(const core::CorrelationCurves& all, const core::CorrelationCurves& a,
                        const core::CorrelationCurves& b) {
  EXPECT_EQ(all.samples, a.samples + b.samples);
  EXPECT_EQ(all.counts, added(a.counts, b.counts));
  EXPECT_EQ(all.sums, added(a.sums, b.sums));
  EXPECT_EQ(all.sums_float, added(a.sums_float, b.sums_float));
  EXPECT_EQ(all.lead_in, added(a.lead_in, b.lead_in));
  EXPECT_EQ(all.monitor_direct, added(a.monitor_direct, b.monitor_direct));
  EXPECT_EQ(all.monitor_delayed, added(a.monitor_delayed, b.monitor_delayed));
  EXPECT_EQ(all.monitor_delayed_float, added(a.monitor_delayed_float, b.monitor_delayed_float));
  EXPECT_EQ(all.totals, added(a.totals, b.totals));
}

// The formula of docs/maths/autocorrelate.md.
void expect_g_of_sums(const core::CorrelationCurves& c) {
  for (std::size_t i = 0; i < c.g.size(); ++i) {
    const auto n = static_cast<long double>(c.counts[i % c.lags]);
    const auto s = static_cast<long double>(c.sums[i] - c.lead_in[i]);
    const auto ab = static_cast<long double>(c.monitor_direct[i]) *
                    static_cast<long double>(c.monitor_delayed[i]);
    ASSERT_EQ(c.g[i], static_cast<double>((n * s - ab) / ab)) << i;
  }
}

class CountStops : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()), {});
  }
  core::CorrelationCurves run(const AutocorrelateConfig& config) {
    return correlate_counts(config, device, summary);
  }
  // Of bins [first, end) alone.
  core::CorrelationCurves part(AutocorrelateConfig config, std::uint64_t first, std::uint64_t end) {
    config.start_s = static_cast<double>(first) * kBin_s;
    config.duration_s = static_cast<double>(end - first) * kBin_s;
    auto curves = run(config);
    EXPECT_TRUE(summary.empty.stretches.empty());
    return curves;
  }
  tests::ScratchFolder scratch;
  std::shared_ptr<const device::Device> device;
  AutocorrelateSummary summary;
};

TEST_P(CountStops, PartsAreAdded) {
  auto random = tests::generator();
  const bool gpu = GetParam() != "cpu";  // PoCL compiles for seconds
  for (const std::size_t sensors : {1, 3})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      for (const std::uint8_t value : {0, 9}) {
        if (gpu && (sensors > 1) != (scheme == LagScheme::chain && value == 9)) continue;
        SCOPED_TRACE(fmt::format("{} sensors, {}, {}", sensors, static_cast<int>(scheme), value));
        const std::size_t samples = 40'000 + random() % 3000;
        const std::size_t first = 8000 + random() % 8000;
        const BinRange stop{first, first + 3000 + random() % 9000};
        const auto counts = stopped(poisson(samples * sensors, 2), sensors, stop, value);
        AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, sensors));
        config.bin_s = kBin_s;
        config.lag_scheme = scheme;
        if (sensors > 1) config.sensors.pairs = "0x2,1x1,2x0";
        const auto all = run(config);
        ASSERT_EQ(summary.empty.stretches.size(), 1u);
        const EmptyCounts& found = summary.empty.stretches[0];
        EXPECT_TRUE(found.left_out);
        EXPECT_EQ(found.first_sample, static_cast<std::int64_t>(stop.first));
        EXPECT_EQ(found.samples, stop.bins());
        EXPECT_EQ(summary.empty.samples, stop.bins() * sensors);
        ASSERT_EQ(summary.warnings.size(), 1u);
        EXPECT_NE(summary.warnings[0].find(sensors > 1 ? "bins are left out: all sensors for"
                                                       : "bins are left out: the sensor for"),
                  std::string::npos)
            << summary.warnings[0];
        expect_parts_added(all, part(config, 0, stop.first), part(config, stop.end, samples));
        expect_g_of_sums(all);
        // Segments are of the time that is left, and each pair is in one of them.
        EXPECT_EQ(all.segment_samples, all.samples / 10);
        std::int64_t pairs = 0;
        for (std::size_t k = 0; k < all.segments; ++k) pairs += all.segment_counts[k * all.lags];
        EXPECT_EQ(pairs, static_cast<std::int64_t>(all.samples / 10 * 10));
        for (std::size_t l = 1; l < 8; ++l) EXPECT_GT(all.standard_error[l], 0);
        // The trace has no steps of the stop, and rates of what is beside it.
        const core::RateTrace& trace = all.first[0].trace;
        const double begin_s = static_cast<double>(stop.first) * kBin_s;
        const double end_s = static_cast<double>(stop.end) * kBin_s, step_s = 0.05;
        double sum = 0;
        for (std::size_t k = 0; k < trace.time_s.size(); ++k) {
          EXPECT_FALSE(trace.time_s[k] > begin_s + step_s && trace.time_s[k] < end_s - step_s);
          sum += trace.rate_khz[k] / static_cast<double>(trace.time_s.size());
        }
        EXPECT_NEAR(sum, 2, 0.1);
        EXPECT_NEAR(all.first[0].mean_rate_hz, 2000, 100);
        config.keep_constant = true;
        const auto kept = run(config);
        EXPECT_TRUE(summary.empty.stretches.empty());
        EXPECT_EQ(kept.samples, samples);
        EXPECT_GT(kept.counts[3], all.counts[3] + static_cast<std::int64_t>(stop.bins()) - 9);
      }
}

// Blocks that end anywhere, also in stops; padding before the first.
TEST_P(CountStops, SeveralStopsInSmallBlocks) {
  auto random = tests::generator();
  constexpr std::size_t kSensors = 200;
  constexpr std::uint64_t kSamples = 30'000;
  auto counts = poisson(kSamples * kSensors, 0.3);
  // A quarter of the run together at most: more of three stops may be a source that flickers.
  const BinRange one{random() % 1000 + 4000, random() % 1000 + 6000};
  const BinRange two{random() % 1000 + 15'000, random() % 1000 + 17'000};
  for (const BinRange& stop : {one, two}) counts = stopped(std::move(counts), kSensors, stop, 0);
  counts[0] = 1;
  const std::size_t padding = 900 + random() % 500;
  SCOPED_TRACE(fmt::format("padding {}, stops {} to {} and {} to {}", padding, one.first, one.end,
                           two.first, two.end));
  counts.insert(counts.begin(), padding * kSensors, 0);
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, kSensors));
  config.bin_s = kBin_s;
  config.memory_bytes = std::size_t{48} << 20;  // blocks are an eighth
  const auto all = run(config);
  EXPECT_EQ(summary.empty.stretches.size(), 3u);
  EXPECT_EQ(summary.empty.samples, (one.bins() + two.bins() + padding) * kSensors);
  auto parts = part(config, padding, padding + one.first);
  for (const BinRange& more : {BinRange{one.end, two.first}, BinRange{two.end, kSamples}}) {
    const auto next = part(config, padding + more.first, padding + more.end);
    parts.samples += next.samples;
    parts.counts = added(parts.counts, next.counts);
    parts.sums = added(parts.sums, next.sums);
    parts.totals = added(parts.totals, next.totals);
  }
  EXPECT_EQ(all.samples, parts.samples);
  EXPECT_EQ(all.counts, parts.counts);
  EXPECT_EQ(all.sums, parts.sums);
  EXPECT_EQ(all.totals, parts.totals);
}

TEST_P(CountStops, FloatsAreAddedOnce) {
  constexpr std::size_t kSamples = 20'000;
  const BinRange stop{7000, 12'000};
  const auto counts = stopped(poisson(kSamples, 2), 1, stop, 0);
  std::vector<float> floats(counts.begin(), counts.end());
  for (float& count : floats) count *= 0.37F;
  AutocorrelateConfig config = tests::config_for(tests::save_counts(scratch, "<f4", floats, 1));
  config.bin_s = kBin_s;
  const auto all = run(config);
  expect_parts_added(all, part(config, 0, stop.first), part(config, stop.end, kSamples));
}

INSTANTIATE_TEST_SUITE_P(Devices, CountStops, ::testing::ValuesIn([] {
                           std::vector<std::string> names = tests::gpu_names();
                           names.insert(names.begin(), "cpu");
                           return names;
                         }()),
                         [](const auto& info) { return tests::test_name(info.param); });

Stops all_stops_of(const std::vector<std::uint8_t>& counts, std::size_t sensors,
                   double bin_s = kBin_s) {
  const core::View<const std::uint8_t, 2> view(counts.data(), {counts.size() / sensors, sensors});
  return find_stops([&] { return formats::open_memory_counts(view, {.format = "memory"}); }, 0,
                    counts.size() / sensors, bin_s);
}

std::vector<BinRange> stops_of(const std::vector<std::uint8_t>& counts, std::size_t sensors,
                               double bin_s = kBin_s) {
  return all_stops_of(counts, sensors, bin_s).left_out;
}

// Plateaus are data where little else is: simulations without noise.
TEST(FindStops, StepsAndConstantRunsAreKept) {
  std::vector<std::uint8_t> squares(40'000);
  for (std::size_t t = 0; t < squares.size(); ++t) squares[t] = (t / 4000) % 2 == 0 ? 3 : 7;
  EXPECT_TRUE(stops_of(squares, 1).empty());
  EXPECT_TRUE(stops_of(std::vector<std::uint8_t>(40'000, 5), 1).empty());
  EXPECT_TRUE(stops_of(std::vector<std::uint8_t>(40'000, 0), 1).empty());
}

// At all rates, sensors alone and many, that are dark now and then.
TEST(FindStops, NoiseHasNone) {
  auto random = tests::generator();
  std::uniform_real_distribution<double> share(0, 1);
  for (int trial = 0; trial < 60; ++trial) {
    const double mean = std::pow(10.0, 4 * share(random) - 3.5);
    const std::size_t sensors = trial % 3 == 0 ? 1 : 1 + random() % 20;
    EXPECT_TRUE(stops_of(poisson((20'000 + random() % 9000) * sensors, mean), sensors).empty())
        << mean;
  }
}

// One of three sensors goes on: nothing is left out.
TEST(FindStops, OneSensorThatGoesOnIsNoStop) {
  constexpr std::size_t kSamples = 30'000;
  auto counts = stopped(poisson(kSamples * 3, 1), 3, {10'000, 20'000}, 0);
  EXPECT_EQ(stops_of(counts, 3), (std::vector<BinRange>{{10'000, 20'000}}));
  for (std::size_t t = 10'005; t < 20'000; t += 10) counts[3 * t + 1] = 1;
  EXPECT_TRUE(stops_of(counts, 3).empty());
}

// Of single sensors, of which a light source could be dark for as long: inside a run, they stay.
TEST(FindStops, AtTheEndsOfARunAreLeftOutHoweverShort) {
  auto random = tests::generator();
  constexpr double kShortBin_s = 1e-5;
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t samples = 60'000 + random() % 9000, stop = 6000 + random() % 9000,
                      inside = 20'000 + random() % 9000;
    auto counts = poisson(samples, 2);
    counts[stop] = counts[samples - stop - 1] = 1;
    auto begin = counts, end = counts;
    std::fill_n(begin.begin(), stop, std::uint8_t{0});
    std::fill_n(end.rbegin(), stop, std::uint8_t{0});
    EXPECT_EQ(stops_of(begin, 1, kShortBin_s), (std::vector<BinRange>{{0, stop}}));
    EXPECT_EQ(stops_of(end, 1, kShortBin_s), (std::vector<BinRange>{{samples - stop, samples}}));
    const auto middle = stopped(counts, 1, {inside, inside + stop}, 0);
    EXPECT_TRUE(stops_of(middle, 1, kShortBin_s).empty());
    // Time tags, of which each bin is a tick.
    const auto tags_of = [&](const std::vector<std::uint8_t>& bins) {
      PhotonSteps steps;
      for (std::size_t t = 0; t < bins.size(); ++t)
        if (bins[t] > 0) steps.add(t);
      return steps.stops(bins.size(), 1, kShortBin_s, 1).left_out;
    };
    EXPECT_EQ(tags_of(begin), (std::vector<BinRange>{{0, stop}}));
    EXPECT_EQ(tags_of(end), (std::vector<BinRange>{{samples - stop, samples}}));
    EXPECT_TRUE(tags_of(middle).empty());
  }
}

// The run without its dark end, to the bit.
TEST(FindStops, ADarkEndIsCutOff) {
  const tests::ScratchFolder scratch;
  constexpr std::size_t kSamples = 50'000, kDark = 8000;
  auto counts = poisson(kSamples, 2);
  counts[kSamples - kDark - 1] = 1;
  std::fill_n(counts.rbegin(), kDark, std::uint8_t{0});
  const auto device = device::open(device::parse_selection("cpu"), {});
  AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, 1));
  config.bin_s = 1e-5;
  AutocorrelateSummary summary;
  const auto all = correlate_counts(config, device, summary);
  ASSERT_EQ(summary.empty.stretches.size(), 1u);
  EXPECT_TRUE(summary.empty.stretches[0].left_out);
  config.duration_s = (kSamples - kDark) * config.bin_s;
  const auto part = correlate_counts(config, device, summary);
  EXPECT_TRUE(summary.empty.stretches.empty());
  EXPECT_EQ(all.samples, part.samples);
  EXPECT_EQ(all.sums, part.sums);
  EXPECT_EQ(all.g, part.g);
}

// A shutter before two detectors, in bins and one by one; the run ends at the last photon of any detector.
TEST(PhotonStops, PartsAreAdded) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  constexpr double kTick_s = 1e-6;
  constexpr std::uint64_t kTicks = 50'000'000, kTicksOfBin = 10;
  const std::uint64_t from = kTicks / 10 + random() % (kTicks / 2), until = from + kTicks / 5;
  std::exponential_distribution<double> between(0.02);
  std::vector<formats::Photon> photons;
  std::uint64_t last_before = 0, first_after = 0;
  for (double time = 0; time < static_cast<double>(kTicks);) {
    time += between(random);
    const auto tick = static_cast<std::uint64_t>(time);
    const auto channel = static_cast<std::uint16_t>(random() % 2);
    if (tick >= from && tick < until) continue;
    if (tick < from) last_before = tick;
    if (tick >= until && first_after == 0) first_after = tick;
    photons.push_back({tick, channel, 0});
  }
  AutocorrelateConfig config = tests::config_for(scratch / "tags.ptu");
  config.bin_s = kTicksOfBin * kTick_s;
  config.sensors.pairs = "0x1,1x1";
  tests::write_tags(config.input, photons, kTick_s);
  const auto device = device::open(device::parse_selection("cpu"), {});
  const BinRange stop{last_before / kTicksOfBin + 1, first_after / kTicksOfBin};
  AutocorrelateSummary summary;
  for (const TagMethod method : {TagMethod::bins, TagMethod::direct}) {
    SCOPED_TRACE(method == TagMethod::bins ? "bins" : "direct");
    config.tag_method = method;
    const auto all = correlate_counts(config, device, summary);
    ASSERT_EQ(summary.empty.stretches.size(), 1u);
    EXPECT_TRUE(summary.empty.stretches[0].left_out);
    EXPECT_EQ(summary.empty.stretches[0].first_sample, static_cast<std::int64_t>(stop.first));
    EXPECT_EQ(summary.empty.stretches[0].samples, stop.bins());
    AutocorrelateConfig part = config;
    part.duration_s = static_cast<double>(stop.first) * config.bin_s;
    const auto before = correlate_counts(part, device, summary);
    part.start_s = static_cast<double>(stop.end) * config.bin_s;
    part.duration_s = -1;
    const auto after = correlate_counts(part, device, summary);
    EXPECT_TRUE(summary.empty.stretches.empty());
    expect_parts_added(all, before, after);
    expect_g_of_sums(all);
    // A part that ends in the stop ends where it begins.
    part.start_s = 0;
    part.duration_s = static_cast<double>(stop.first + stop.bins() / 2) * config.bin_s;
    const auto ended = correlate_counts(part, device, summary);
    EXPECT_EQ(ended.samples, before.samples);
    EXPECT_EQ(ended.sums, before.sums);
  }
  config.keep_constant = true;
  EXPECT_EQ(correlate_counts(config, device, summary).samples,
            (photons.back().time + 1) / kTicksOfBin);
  EXPECT_TRUE(summary.empty.stretches.empty());
}

// To the tick, of runs of any length.
TEST(PhotonStops, StepsKnowTheLastPhotonAndTheNext) {
  auto random = tests::generator();
  for (int trial = 0; trial < 70; ++trial) {
    std::exponential_distribution<double> between(std::pow(10.0, -(trial % 7)));
    PhotonSteps steps;
    std::vector<std::uint64_t> ticks;
    std::uint64_t tick = 0;
    const std::size_t photons = 50'000 + random() % 50'000,
                      at = photons / 4 + random() % photons / 2;
    for (std::size_t k = 0; k < photons; ++k) {
      ticks.push_back(tick);
      steps.add(tick);
      tick += static_cast<std::uint64_t>(between(random));
      if (k == at) tick += (ticks.back() + 100) / 2;
    }
    const auto found = steps.stops(ticks.back() + 1, 1, 1e3, 1).left_out;
    EXPECT_EQ(found, (std::vector<BinRange>{{ticks[at] + 1, ticks[at + 1]}})) << trial;
    // Of two detectors one after the other, the same.
    std::array<std::vector<std::uint64_t>, 2> halves;
    for (const std::uint64_t one : ticks) halves[random() % 2].push_back(one);
    PhotonSteps of_two;
    for (const auto& half : halves) of_two.add_all(half);
    EXPECT_EQ(of_two.stops(ticks.back() + 1, 1, 1e3, 1).left_out, found) << trial;
  }
}

// Of a clock that had run for long before: the curves, and the bins that are chosen, are those of the run alone.
TEST(PhotonStops, TheClockMayHaveBegunLongBefore) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  constexpr std::uint64_t kTicksPerBin = 10;
  std::exponential_distribution<double> between(0.02);
  std::vector<formats::Photon> photons{{0, 0, 0}};
  for (std::size_t k = 0; k < 20'000; ++k)
    photons.push_back({photons.back().time + static_cast<std::uint64_t>(between(random)),
                       static_cast<std::uint16_t>(random() % 2), 0});
  const std::uint64_t offset =
      kTicksPerBin * (photons.back().time * 3 + random() % 1'000'000'000'000);
  const auto device = device::open(device::parse_selection("cpu"), {});
  AutocorrelateConfig config = tests::config_for(scratch / "x.ptu");
  for (const TagMethod method : {TagMethod::bins, TagMethod::direct}) {
    config.tag_method = method;
    for (const double bin_s : {1e-5, 0.0}) {
      config.bin_s = bin_s;
      AutocorrelateSummary summary;
      tests::write_tags(config.input, photons, 1e-6);
      const auto run = correlate_counts(config, device, summary);
      EXPECT_EQ(summary.empty.samples, 0u);
      auto late = photons;
      for (formats::Photon& photon : late) photon.time += offset;
      tests::write_tags(config.input, late, 1e-6);
      const auto curves = correlate_counts(config, device, summary);
      EXPECT_EQ(curves.bin_s, run.bin_s);
      EXPECT_EQ(curves.samples, run.samples);
      EXPECT_EQ(curves.sums, run.sums);
      EXPECT_EQ(curves.g, run.g);
      ASSERT_EQ(summary.empty.stretches.size(), 1u);
      EXPECT_TRUE(summary.empty.stretches[0].left_out);
    }
  }
}

// Where a run goes on long behind the last photon, or has none, steps become longer and not more.
TEST(PhotonStops, OfRunsThatGoOnBehindTheLastPhoton) {
  const std::uint64_t photons = 100'000, end = std::uint64_t{1} << 50,
                      between = end / photons * 3 / 5;
  PhotonSteps steps, short_steps;
  for (std::uint64_t k = 0; k < photons; ++k) steps.add(k * between), short_steps.add(k);
  EXPECT_EQ(steps.stops(end, 1, 1e-9, 1).left_out,
            (std::vector<BinRange>{{(photons - 1) * between + 1, end}}));
  // All photons are in one step, which does not say how many a step has.
  EXPECT_TRUE(short_steps.stops(end, 1, 1e-9, 1).left_out.empty());
  EXPECT_TRUE(PhotonSteps().stops(end, 1, 1e-9, 1).left_out.empty());
}

// Rolling curves and runs that will be resumed keep their times: the stop is named alone.
TEST(FindStops, RunsThatKeepTheirTimesKeepStops) {
  const tests::ScratchFolder scratch;
  const auto counts = stopped(poisson(30'000, 2), 1, {10'000, 20'000}, 0);
  const auto device = device::open(device::parse_selection("cpu"), {});
  for (const bool window : {false, true}) {
    AutocorrelateConfig config = tests::config_for(tests::save(scratch, counts, 1));
    config.bin_s = kBin_s;
    window ? config.window_s = 5 : config.window_s = 0;
    if (!window) config.save_state = scratch / "run.state";
    AutocorrelateSummary summary;
    EXPECT_EQ(correlate_counts(config, device, summary).samples, 30'000u);
    ASSERT_EQ(summary.empty.stretches.size(), 1u);
    EXPECT_FALSE(summary.empty.stretches[0].left_out);
  }
}

}  // namespace
}  // namespace tautline::pipeline
