// Files of counts that stop: what is left out and named, with curves and errors of the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/count_files.h"
#include "tests/support/gpus.h"

namespace tautline::pipeline {
namespace {

using tests::config_for;
using tests::poisson;
using tests::save;

class EmptyCountFiles : public ::testing::Test {
 protected:
  core::CorrelationCurves curves_of(const std::vector<std::uint8_t>& counts, std::size_t sensors,
                                    bool keep = false) {
    AutocorrelateConfig config = config_for(save(scratch, counts, sensors));
    config.bin_s = bin_s;
    config.keep_constant = keep;
    return correlate_counts(config, device::open(device::parse_selection("cpu"), {}), summary);
  }
  tests::ScratchFolder scratch;
  double bin_s = 1e-5;
  AutocorrelateSummary summary;
};

// To the bit, errors and traces included.
TEST_F(EmptyCountFiles, PaddingIsLeftOut) {
  bin_s = 1e-3;
  auto random = tests::generator();
  const std::size_t sensors = 3, samples = 40'000 + random() % 1000;
  auto counts = poisson(samples * sensors, 0.5);
  counts.front() = counts.back() = 1;
  const auto whole = curves_of(counts, sensors);
  EXPECT_EQ(summary.empty.samples, 0u);
  for (const bool before : {false, true}) {
    const std::size_t padding = 1000 + random() % 20'000;
    auto padded = counts;
    padded.insert(before ? padded.begin() : padded.end(), padding * sensors, 0);
    if (before) padded.insert(padded.end(), 2 * padding * sensors, 0);
    const auto cut = curves_of(padded, sensors);
    EXPECT_EQ(cut.samples, samples);
    EXPECT_EQ(cut.sums, whole.sums);
    EXPECT_EQ(cut.monitor_direct, whole.monitor_direct);
    EXPECT_EQ(cut.g, whole.g);
    EXPECT_EQ(cut.standard_error, whole.standard_error);
    EXPECT_EQ(cut.first[1].trace.rate_khz, whole.first[1].trace.rate_khz);
    EXPECT_EQ(summary.empty.samples, padding * sensors * (before ? 3 : 1));
    ASSERT_EQ(summary.empty.stretches.size(), before ? 2u : 1u);
    const EmptyCounts& last = summary.empty.stretches.back();
    EXPECT_TRUE(last.left_out);
    EXPECT_EQ(last.first_sample, static_cast<std::int64_t>(samples + (before ? padding : 0)));
    ASSERT_EQ(summary.warnings.size(), 1u);
    EXPECT_NE(summary.warnings[0].find("bins are left out: all sensors for"), std::string::npos)
        << summary.warnings[0];
    const auto kept = curves_of(padded, sensors, true);
    EXPECT_EQ(kept.samples, padded.size() / sensors);
    EXPECT_EQ(summary.empty.samples, 0u);
    EXPECT_GT(kept.g[5], whole.g[5] + 0.01);
  }
}

// One sensor's light may go out for a while, as that of a lone emitter: where its detector might have had no dark count
// either, the stretch stays. Three sensors in front of it have three times as many.
TEST_F(EmptyCountFiles, DarknessIsNoPadding) {
  bin_s = 3e-5;
  for (const std::size_t sensors : {1, 3}) {
    auto counts = poisson(50'000 * sensors, 1);
    counts[29'999 * sensors] = counts[40'000 * sensors] = 1;
    std::fill(counts.begin() + static_cast<std::ptrdiff_t>(30'000 * sensors),
              counts.begin() + static_cast<std::ptrdiff_t>(40'000 * sensors), 0);
    const auto curves = curves_of(counts, sensors);  // dark for 0.3 s
    ASSERT_EQ(summary.empty.stretches.size(), 1u);
    const EmptyCounts& found = summary.empty.stretches[0];
    EXPECT_EQ(found.left_out, sensors == 3);
    EXPECT_EQ(curves.samples, found.left_out ? 40'000u : 50'000u);
    EXPECT_EQ(found.sensors, sensors);
    EXPECT_NEAR(static_cast<double>(found.samples), 10'000, found.left_out ? 0 : 60);
    ASSERT_EQ(summary.warnings.size(), 1u);
    EXPECT_EQ(summary.warnings[0].find("left out") != std::string::npos, found.left_out);
  }
}

// Sensors too dim to tell by themselves, and one that stops longer than the others; short enough for emitters.
TEST_F(EmptyCountFiles, AllSensorsTogether) {
  bin_s = 1e-6;
  auto random = tests::generator();
  constexpr std::size_t kSensors = 100, kSamples = 20'000;
  auto counts = poisson(kSamples * kSensors, 0.01);
  std::bernoulli_distribution brighter(0.5);
  constexpr std::size_t kStep = 20;  // samples of the trace
  const std::size_t first = kStep * (200 + random() % 300), length = 200 * kStep;
  for (std::size_t t = 0; t < kSamples; ++t) {
    auto* const row = counts.data() + t * kSensors;
    row[7] = brighter(random) ? 1 : 0;
    if (t >= first && t < first + length) std::fill_n(row, kSensors, 0);
    if (t >= first && t < first + 2 * length) row[7] = 0;
  }
  curves_of(counts, kSensors);
  ASSERT_EQ(summary.empty.stretches.size(), 2u);
  const EmptyCounts& all = summary.empty.stretches[0];
  EXPECT_EQ(all.sensors, kSensors);
  EXPECT_TRUE(all.names.empty());
  EXPECT_EQ(all.first_sample, static_cast<std::int64_t>(first));
  EXPECT_EQ(all.samples, length);
  const EmptyCounts& one = summary.empty.stretches[1];
  EXPECT_EQ(one.names, std::vector<std::string>{"sensor 7"});
  EXPECT_NEAR(static_cast<double>(one.first_sample), static_cast<double>(first + length),
              kStep + 1);
  EXPECT_NEAR(static_cast<double>(one.samples), length, 2 * kStep);
  EXPECT_EQ(summary.empty.samples, all.samples * kSensors + one.samples);
}

// Of light that flickers, for a fifth of the run: at its begin, its end and anywhere, at the edges of segments and steps
// and beside them.
TEST_F(EmptyCountFiles, DiffusingLightThatStopsIsNamedAnywhere) {
  bin_s = 2e-5;
  constexpr std::size_t kSamples = 250'000, kStep = 250, kSegment = 25'000;
  SimulatePhotonsConfig simulation;
  simulation.duration_s = 5;
  simulation.bin_s = bin_s;
  simulation.seed = 8;
  simulation.model.species = {{1, 1e-3, 1e5}};
  simulation.output = scratch / "light.npy";
  simulate_photons(simulation);
  std::ifstream file(simulation.output, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(kSamples), std::ios::end);
  std::vector<std::uint8_t> light(kSamples);
  ASSERT_TRUE(file.read(reinterpret_cast<char*>(light.data()), kSamples));
  auto random = tests::generator();
  const std::size_t anywhere = random() % (kSamples - 50'000);
  std::vector<std::pair<std::size_t, std::size_t>> stops;
  for (const std::size_t length : {50'000, 49'500, 45'000, 40'000}) {
    stops.emplace_back(0, length);
    stops.emplace_back(kSamples - length, kSamples);
    for (const std::size_t first :
         {anywhere, anywhere / kStep * kStep, anywhere / kSegment * kSegment + 1})
      stops.emplace_back(first, first + length);
  }
  for (const auto& [first, end] : stops) {
    auto counts = light;
    std::fill(counts.begin() + static_cast<std::ptrdiff_t>(first),
              counts.begin() + static_cast<std::ptrdiff_t>(end), 0);
    curves_of(counts, 1);
    ASSERT_EQ(summary.empty.stretches.size(), 1u) << first << " to " << end;
    const EmptyCounts& found = summary.empty.stretches[0];
    EXPECT_NEAR(static_cast<double>(found.first_sample), static_cast<double>(first), 2 * kStep);
    EXPECT_NEAR(static_cast<double>(found.samples), static_cast<double>(end - first), 4 * kStep);
    EXPECT_EQ(summary.warnings.size(), 1u);
  }
}

// Nine parts of ten, as a shutter that closes early leaves it: the curves are those of the tenth.
TEST_F(EmptyCountFiles, MostOfARunIsLeftOut) {
  constexpr std::size_t kSamples = 200'000;
  auto random = tests::generator();
  const std::size_t lit = kSamples / 10 + random() % 1000;
  auto light = poisson(lit * 2, 0.3);
  light.front() = light.back() = 1;
  const auto alone = curves_of(light, 2);
  for (const bool before : {false, true}) {
    auto counts = light;
    counts.insert(before ? counts.begin() : counts.end(), (kSamples - lit) * 2, 0);
    const auto curves = curves_of(counts, 2);
    EXPECT_EQ(curves.samples, lit);
    EXPECT_EQ(curves.g, alone.g);
    ASSERT_EQ(summary.warnings.size(), 1u);
    EXPECT_NE(summary.warnings[0].find("bins are left out"), std::string::npos);
  }
}

// A run that will be gone on with keeps its times: what it has of padding is named alone.
TEST_F(EmptyCountFiles, SavedRunsKeepTheirPadding) {
  auto counts = poisson(50'000, 1);
  std::fill(counts.begin() + 40'000, counts.end(), 0);
  AutocorrelateConfig config = config_for(save(scratch, counts, 1));
  config.save_state = scratch / "run.state";
  const auto device = device::open(device::parse_selection("cpu"), {});
  EXPECT_EQ(correlate_counts(config, device, summary).samples, 50'000u);
  ASSERT_EQ(summary.empty.stretches.size(), 1u);
  EXPECT_FALSE(summary.empty.stretches[0].left_out);
  EXPECT_NEAR(static_cast<double>(summary.empty.samples), 10'000, 200);
}

TEST_F(EmptyCountFiles, ASensorThatStopsIsNamed) {
  auto random = tests::generator();
  const std::size_t sensors = 4, samples = 60'000, length = 2'000 + random() % 10'000;
  const std::size_t first = random() % (samples - length), stopped = random() % sensors;
  auto counts = poisson(samples * sensors, 2);
  const auto plain = curves_of(counts, sensors);
  EXPECT_TRUE(summary.empty.stretches.empty());
  for (std::size_t t = first; t < first + length; ++t) counts[t * sensors + stopped] = 0;
  const auto curves = curves_of(counts, sensors);
  ASSERT_EQ(summary.empty.stretches.size(), 1u);
  const EmptyCounts& found = summary.empty.stretches[0];
  EXPECT_EQ(found.sensors, 1u);
  EXPECT_EQ(found.names, std::vector<std::string>{"sensor " + std::to_string(stopped)});
  EXPECT_EQ(summary.empty.samples, found.samples);
  constexpr double kStep = 60;  // samples of the trace
  EXPECT_NEAR(static_cast<double>(found.first_sample), static_cast<double>(first), kStep + 5);
  EXPECT_NEAR(static_cast<double>(found.samples), static_cast<double>(length), 2 * kStep + 10);
  EXPECT_FALSE(found.left_out);
  const std::size_t other = (stopped + 1) % sensors;
  for (std::size_t l = 0; l < curves.lags; ++l)
    EXPECT_EQ(curves.sums[other * curves.lags + l], plain.sums[other * plain.lags + l]);
}

// A detector that stopped for whole segments: its errors are those of the others.
TEST_F(EmptyCountFiles, ErrorsComeFromSegmentsWithCounts) {
  bin_s = 4e-6;  // darkness of up to 0.24 s
  auto random = tests::generator();
  constexpr std::size_t kSegments = 10, kSegment = 10'000;
  for (std::size_t dark = 1; dark <= 6; ++dark) {
    auto counts = poisson(kSegments * kSegment, 2);
    const auto plain = curves_of(counts, 1);
    const std::size_t first = 1 + random() % (kSegments - 1 - dark);
    std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(first * kSegment), dark * kSegment, 0);
    const auto curves = curves_of(counts, 1);
    ASSERT_EQ(curves.segments, kSegments);
    ASSERT_EQ(curves.standard_error.size(), curves.lags);
    double sum = 0, plain_sum = 0;
    for (std::size_t l = 1; l < curves.lags; ++l) {
      ASSERT_GT(plain.standard_error[l], 0) << l;
      // Wider windows reach over the edge of a dark segment, which has g then.
      if (dark <= 5 || l <= 8) {
        EXPECT_EQ(std::isfinite(curves.standard_error[l]), dark <= 5) << dark << ", lag " << l;
      }
      if (l > 8) continue;
      sum += curves.standard_error[l] * curves.standard_error[l];
      plain_sum += plain.standard_error[l] * plain.standard_error[l];
    }
    // Squares of 8 lags, of 32 degrees of freedom or more over 72, and up to twice as large.
    if (dark > 5) continue;
    EXPECT_GT(sum / plain_sum, 0.2) << dark;
    EXPECT_LT(sum / plain_sum, 12) << dark;
  }
}

// In bins and one by one.
TEST_F(EmptyCountFiles, ADetectorOfTimeTagsThatStops) {
  auto random = tests::generator();
  constexpr double kTick_s = 1e-6;
  constexpr std::uint64_t kGap = 10'000'000;  // ticks
  const std::uint64_t from = random() % kGap;
  std::exponential_distribution<double> between(0.02);
  std::vector<formats::Photon> photons;
  for (double time = 0; time < 5 * kGap;) {
    time += between(random);
    const auto tick = static_cast<std::uint64_t>(time);
    const auto channel = static_cast<std::uint16_t>(random() % 2);
    if (channel == 0 || tick < from || tick >= from + kGap) photons.push_back({tick, channel, 0});
  }
  AutocorrelateConfig config = config_for(scratch / "tags.ptu");
  tests::write_tags(config.input, photons, kTick_s);
  const auto device = device::open(device::parse_selection("cpu"), {});
  for (const TagMethod method : {TagMethod::bins, TagMethod::direct}) {
    config.tag_method = method;
    correlate_counts(config, device, summary);
    ASSERT_EQ(summary.empty.stretches.size(), 1u);
    const EmptyCounts& found = summary.empty.stretches[0];
    EXPECT_EQ(found.names, std::vector<std::string>{"detector 1"});
    EXPECT_NEAR(static_cast<double>(found.first_sample) * config.bin_s,
                static_cast<double>(from) * kTick_s, 0.06);
    EXPECT_NEAR(static_cast<double>(found.samples) * config.bin_s, kGap * kTick_s, 0.12);
  }
  config.keep_constant = true;
  correlate_counts(config, device, summary);
  EXPECT_TRUE(summary.empty.stretches.empty());
}

// Few molecules, with and without a background, counts and time tags: their darkness is no stop.
TEST_F(EmptyCountFiles, MoleculesNeverStop) {
  const auto device = device::open(device::parse_selection("cpu"), {});
  const std::uint64_t seed = tests::seed();
  for (int trial = 0; trial < 12; ++trial) {
    SimulatePhotonsConfig simulation;
    simulation.sensors = 8;
    simulation.duration_s = 1;
    simulation.bin_s = 1e-5;
    simulation.seed = seed + static_cast<std::uint64_t>(trial);
    const double n = trial % 3 == 0 ? 0.003 : trial % 3 == 1 ? 0.02 : 0.3;
    constexpr double kBrightness_hz = 1e6;  // of one molecule
    simulation.model.species = {{n, trial % 2 == 0 ? 1e-3 : 2e-2, n * kBrightness_hz}};
    simulation.model.background_hz = trial % 4 < 2 ? 0 : 300;
    simulation.output = scratch / (trial % 6 < 3 ? "light.npy" : "light.ptu");
    simulation.overwrite = true;
    simulate_photons(simulation);
    AutocorrelateConfig config = config_for(simulation.output);
    config.bin_s = simulation.bin_s;
    correlate_counts(config, device, summary);
    EXPECT_TRUE(summary.empty.stretches.empty())
        << "trial " << trial << ": " << empty_warnings(summary.empty, 1)[0];
  }
}

// Whole recordings and parts of them, in bins and one by one.
TEST_F(EmptyCountFiles, RecordedPhotonsNeverStop) {
  const std::string folder = std::string(TAUTLINE_DATA_DIR) + "/fcs/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs " << folder;
  auto random = tests::generator();
  std::uniform_real_distribution<double> share(0, 1);
  const auto device = device::open(device::parse_selection("cpu"), {});
  for (const auto& [name, length_s] : {std::pair{"Point_1.pt3", 29.9}, {"v20_t3.ptu", 9.9}}) {
    AutocorrelateConfig config = config_for(folder + name);
    for (int trial = 0; trial < 10; ++trial) {
      config.tag_method = trial % 2 == 0 ? TagMethod::bins : TagMethod::direct;
      if (trial > 1) {
        config.duration_s = length_s * std::pow(10.0, -2 * share(random));
        config.start_s = (length_s - config.duration_s) * share(random);
      }
      correlate_counts(config, device, summary);
      EXPECT_TRUE(summary.empty.stretches.empty())
          << name << ": " << empty_warnings(summary.empty, config.bin_s)[0];
    }
  }
}

// The device's own traces find what the host's do, and the sums without the padding are the same.
class EmptyCountsOnGpu : public EmptyCountFiles,
                         public ::testing::WithParamInterface<std::string> {};

TEST_P(EmptyCountsOnGpu, AreThoseOfTheCpu) {
  SKIP_WITHOUT_GPU(GetParam());
  constexpr std::size_t kSensors = 5, kSamples = 20'000, kPadding = 9'000;
  auto counts = poisson(kSamples * kSensors, 1);
  counts.back() = 1;
  for (std::size_t t = 5'000; t < 9'000; ++t) counts[t * kSensors + 2] = 0;
  counts.resize((kSamples + kPadding) * kSensors);
  AutocorrelateConfig config = config_for(save(scratch, counts, kSensors));
  config.bin_s = 1e-3;
  AutocorrelateSummary there;
  const auto curves =
      correlate_counts(config, device::open(device::parse_selection("cpu"), {}), summary);
  const auto on_device =
      correlate_counts(config, device::open(device::parse_selection(GetParam()), {}), there);
  EXPECT_EQ(curves.samples, kSamples);
  EXPECT_EQ(on_device.sums, curves.sums);
  EXPECT_EQ(on_device.g, curves.g);
  ASSERT_EQ(summary.empty.stretches.size(), 2u);
  EXPECT_EQ(empty_stretches(there.empty), empty_stretches(summary.empty));
  EXPECT_EQ(there.empty.samples, summary.empty.samples);
}

INSTANTIATE_TEST_SUITE_P(Gpu, EmptyCountsOnGpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline
