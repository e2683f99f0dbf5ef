// Every backend of detect against the reference, for any split of the stream.
#include "tautline/stages/detect/detect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/detect/groups.h"
#include "tests/stages/detect/support.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"

namespace tautline::stages::detect {
namespace {

class Backend : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_DEVICE(std::string(GetParam())); }
};

TEST_P(Backend, IsTheOneThatWasForced) {
  const std::string name = GetParam();
  const auto plan = make_plan({}, device::open(device::parse_selection(name)));
  const std::string expected = name == "cpu:amx" || name == "cpu:vnni" ? "avx512"
                               : name.starts_with("cpu:")              ? name.substr(4)
                                                          : name.substr(0, name.find(':'));
  EXPECT_EQ(plan->backend(), expected);
}

template <class T>
void compare(const std::string& device, const Config& config, std::size_t trials,
             std::size_t samples, double sigma, std::mt19937_64& random, const std::string& what) {
  const Rows<T> rows = noise_rows<T>(trials, samples, sigma, 6, random);
  const Found reference = run("reference", config, rows, samples, random);
  expect_same(reference, run(device, config, rows, samples, random), what + ", whole");
  expect_same(reference, run(device, config, rows, 1 + samples / 3, random, 1), what + ", parts");
  // A call takes PoCL a millisecond.
  const std::size_t short_part =
      device.starts_with("cpu") ? 97 : std::max<std::size_t>(97, samples / 12);
  expect_same(reference, run(device, config, rows, short_part, random), what + ", short parts");
}

// Lengths around a segment of the baseline (4 samples here), its window (132), a noise block
// (16,384), and a last half block.
TEST_P(Backend, EqualsTheReferenceOnEveryLengthAndSplit) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.009;
  config.baseline_s = 0.132;
  config.threshold = 4;
  std::vector<std::size_t> lengths{
      1, 2, 3, 4, 5, 7, 131, 132, 133, 700, 16383, 16384, 16385, 16384 + 8191, 16384 + 8192};
  if (small()) lengths = {1, 3, 133, 16385};
  for (const std::size_t samples : lengths) {
    compare<std::int32_t>(GetParam(), config, 3, samples, 40, random,
                          "int32 x " + std::to_string(samples));
    compare<float>(GetParam(), config, 3, samples, 0.3, random,
                   "float x " + std::to_string(samples));
  }
}

TEST_P(Backend, EqualsTheReferenceOnManyTrialsAndWidths) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.threshold = 4.5;
  config.max_width_s = small() ? 0.05 : 0.3;
  for (const Noise noise : {Noise::trial, Noise::width}) {
    config.noise = noise;
    config.links.dm_trials = noise == Noise::trial ? 1 : 3;
    compare<std::int32_t>(GetParam(), config, small() ? 2 : 7, small() ? 17000 : 33000, 3, random,
                          "int32");
    compare<float>(GetParam(), config, small() ? 2 : 7, small() ? 9011 : 20011, 100, random,
                   "float");
  }
}

// Blocks of 1,024 samples with a noise each, as live searches have them; the stream's ends among them.
TEST_P(Backend, EqualsTheReferenceWithShortBlocksOfNoise) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.threshold = 4;
  config.max_width_s = 0.02;
  config.baseline_s = 0.2;
  config.noise_s = 0.5;  // fewer samples than there must be
  EXPECT_EQ(make_plan(config, device::open({}))->noise_samples(), kLeastNoiseSamples);
  config.noise_s = 1.5;
  EXPECT_EQ(make_plan(config, device::open({}))->noise_samples(), 1500u);
  for (const std::size_t samples : {1499u, 2249u, 2251u, 9000u}) {
    compare<std::int32_t>(GetParam(), config, 3, samples, 40, random,
                          "int32 x " + std::to_string(samples));
    compare<float>(GetParam(), config, 3, samples, 0.3, random,
                   "float x " + std::to_string(samples));
  }
}

TEST_P(Backend, EndsEachTrialAtItsOwnLength) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.threshold = 4.2;
  config.max_width_s = 0.02;
  config.lengths = {33000, 30000, 16384, 700, 0};
  Rows<std::int32_t> rows = noise_rows<std::int32_t>(5, 33000, 20, 4, random);
  const Found reference = run("reference", config, rows, 33000, random);
  EXPECT_FALSE(reference.pulses.empty());
  expect_same(reference, run(GetParam(), config, rows, 33000, random), "whole");
  expect_same(reference, run(GetParam(), config, rows, 3000, random), "parts");
  // Samples after a trial's length change nothing.
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t t = config.lengths[r]; t < rows[r].size(); ++t) rows[r][t] = 1 << 20;
  expect_same(reference, run(GetParam(), config, rows, 4000, random), "other tail");
}

// What a stream that ends sooner than planned gives is what a plan of its true lengths gives; the next stream has the
// planned ones again.
TEST_P(Backend, AStreamMayEndSoonerThanPlanned) {
  auto random = tests::generator();
  Config config = config_for(0.02, 4.2);
  config.links.dm_trials = 0;
  config.lengths = {33000, 31000, 20000, 17500};
  const std::size_t cut = 1 + random() % 8000, sooner = random() % 9000;
  Config shortened = config;
  for (std::uint64_t& length : shortened.lengths) length -= sooner;
  const Rows<std::int32_t> rows = noise_rows<std::int32_t>(4, 33000, 20, 9, random);
  const auto device = device::open(device::parse_selection(GetParam()), {.threads = 2});
  CaseRun calls(device);
  calls.use(make_plan(fit(config, rows, 33000), device));
  const auto stream = [&](bool shorten) {
    std::vector<std::int32_t> head, tail;
    for (const auto& row : rows) {
      const auto at = row.begin() + static_cast<std::ptrdiff_t>(cut);
      head.insert(head.end(), row.begin(), at);
      tail.insert(tail.end(), at, row.end());
    }
    calls.give(Integers(head.data(), {4, cut}));
    if (shorten) calls.state().shorten(calls.queue(), shortened.lengths);
    calls.give(Integers(tail.data(), {4, 33000 - cut}));
    Found found = end(calls);
    calls.state().reset();
    return found;
  };
  const Found expected = run("reference", shortened, rows, 33000, random);
  EXPECT_FALSE(expected.pulses.empty());
  expect_same(expected, stream(true), "shortened");
  expect_same(run("reference", config, rows, 33000, random), stream(false), "planned");
  const std::vector<std::uint64_t> longer(4, 40000);
  EXPECT_THROW(calls.state().shorten(calls.queue(), longer), core::Error);
}

// Two halves of the trials in two searches: each joins the groups that cannot reach into the other
// half, and gives the others detection by detection.
TEST_P(Backend, GivesWhatMayBelongToTrialsElsewhereForItself) {
  auto random = tests::generator();
  Config config = config_for(0.03, 4.2);
  config.links.dm_trials = 2;
  const std::size_t half = 9, samples = 34000;
  std::vector<std::uint64_t> lengths;
  for (std::size_t t = 0; t < 2 * half; ++t) lengths.push_back(samples - 20 * t);
  const auto rows = noise_rows<std::int32_t>(2 * half, samples, 30, 9, random);
  Config whole = config;
  whole.lengths = lengths;
  const Found expected = run("reference", whole, rows, samples, random);
  std::vector<Pulse> pulses;
  Groups waiting(config.links, 30, 2 * half, lengths);
  std::vector<Detection> separate;
  std::size_t detections = 0;
  for (const std::size_t first : {std::size_t{0}, half}) {
    Config part = config;
    const auto begin = static_cast<std::ptrdiff_t>(first);
    const auto end = static_cast<std::ptrdiff_t>(first + half);
    part.lengths.assign(lengths.begin() + begin, lengths.begin() + end);
    if (first == 0)
      part.links.behind = {true, lengths.back(), lengths[half]};
    else
      part.links.before = {true, lengths[half - 1], lengths.front()};
    const Rows<std::int32_t> own(rows.begin() + begin, rows.begin() + end);
    const Found found = run(GetParam(), part, own, 9000, random);
    expect_same(run("reference", part, own, samples, random), found, "half");
    detections += found.counters.detections;
    for (Pulse pulse : found.pulses) {
      pulse.trial += first;
      pulse.first_trial += first;
      pulse.last_trial += first;
      if (pulse.separate)
        separate.push_back(detection_of(pulse, lengths[pulse.trial]));
      else
        pulses.push_back(pulse);
    }
  }
  EXPECT_EQ(detections, expected.counters.detections);
  EXPECT_FALSE(pulses.empty());
  EXPECT_FALSE(separate.empty());
  EXPECT_LT(separate.size(), detections);
  waiting.add(separate);
  waiting.settle(~std::uint64_t{0}, pulses);
  EXPECT_EQ(in_order(pulses), expected.pulses);
}

// Sums beyond 32 bits, and widths whose squares exceed 64.
TEST_P(Backend, EqualsTheReferenceOnBrightPulses) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.2;
  for (const Noise noise : {Noise::trial, Noise::width})
    for (const double peak : {2e3, 1e5, 1e8, 4e8}) {
      if (small() && peak != 1e5) continue;
      config.noise = noise;
      Rows<std::int32_t> rows = noise_rows<std::int32_t>(2, 18000, 5, 0, random);
      for (std::size_t t = 9000; t < 9050; ++t) rows[1][t] += static_cast<std::int32_t>(peak);
      const Found reference = run("reference", config, rows, 18000, random);
      // With Noise::width the pulse raises the RMS that its sums are divided by.
      if (noise == Noise::trial) {
        EXPECT_FALSE(reference.pulses.empty()) << peak;
      }
      expect_same(reference, run(GetParam(), config, rows, 5000, random),
                  "peak " + std::to_string(peak));
    }
}

template <class T>
void compare_saved(const std::string& device, const Config& config, std::size_t samples,
                   std::mt19937_64& random) {
  const Rows<T> rows = noise_rows<T>(4, samples, 30, 6, random);
  const Found whole = run("reference", config, rows, samples, random);
  EXPECT_FALSE(whole.pulses.empty());
  expect_same(whole, run(device, config, rows, samples / 6, random, 2, true), "saved and loaded");
}

void compare_saved(const std::string& device) {
  auto random = tests::generator();
  Config config = config_for(0.03, 4.3);
  compare_saved<float>(device, config, 40000, random);
  config.noise = Noise::width;
  compare_saved<std::int32_t>(device, config, 36000, random);
  config.noise = Noise::trial;
  config.links.dm_trials = 1;
  config.links.behind = {true, 35000, 35900};
  config.lengths = {36000, 36000, 30000, 700};
  compare_saved<std::int32_t>(device, config, 36000, random);
}

TEST_P(Backend, SavedAndLoadedAtEveryCall) {
  compare_saved(GetParam());
}
TEST(Reference, SavedAndLoadedAtEveryCall) {
  compare_saved("reference");
}

TEST_P(Backend, RefusesTheStateOfAnotherPlan) {
  const auto device = device::open(device::parse_selection(GetParam()));
  const auto queue = device->make_queue();
  const auto state_of = [&](const Config& config) {
    return make_plan(config, device)->make_state(*queue);
  };
  const auto expect_refused = [](State& state, const std::vector<std::byte>& bytes) {
    const core::Error error = tests::error_of([&] { state.load(bytes); });
    EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
  };
  const Config config{.trials = 2, .lengths = {5000, 4000}};
  const auto state = state_of(config);
  std::vector<std::byte> saved = state->save();
  std::vector<Config> others(6, config);
  others[0].trials = 4, others[0].lengths = {};
  others[1].threshold = 7;
  others[2].type = core::SampleType::f32;
  others[3].noise = Noise::width;
  others[4].lengths[1] = 4001;
  others[5].links.behind.any = true;
  for (const Config& other : others) expect_refused(*state_of(other), saved);
  const auto reference = device::open(device::parse_selection("reference"));
  expect_refused(*state, make_plan(config, reference)->make_state(*queue)->save());
  state->load(saved);
  saved.push_back({});
  expect_refused(*state, saved);
  saved.resize(saved.size() / 2);
  expect_refused(*state, saved);
  expect_refused(*state, {});
}

TEST_P(Backend, OneCallGivesTheSame) {
  auto random = tests::generator();
  Config config = config_for(0.03, 4.5);
  const auto rows = noise_rows<float>(3, 30000, 30, 4, random);
  const Found found = run("reference", config, rows, 30000, random);
  std::vector<float> series;
  for (const auto& row : rows) series.insert(series.end(), row.begin(), row.end());
  config.max_samples = 7001;
  const std::vector<Pulse> pulses =
      detect(config, Floats(series.data(), {3, 30000}), device::parse_selection(GetParam()));
  EXPECT_EQ(in_order(pulses), found.pulses);
  EXPECT_TRUE(std::is_sorted(pulses.begin(), pulses.end(),
                             [](const Pulse& a, const Pulse& b) { return a.snr > b.snr; }));
}

TEST_P(Backend, LeavesOutWhatIsNotANumberAndCountsIt) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.01;
  config.threshold = 4.2;
  Rows<float> rows = noise_rows<float>(2, 17000, 5, 3, random);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t t : {0u, 5u, 400u, 16999u}) rows[0][t] = std::nanf("");
  for (std::size_t t = 3000; t < 5200; ++t) rows[1][t] = std::nanf("");
  rows[1][7] = kInfinity;
  rows[1][8] = -kInfinity;
  rows[1][9] = 1e31f;
  const Found reference = run("reference", config, rows, 17000, random);
  EXPECT_EQ(reference.counters.missing, 4u + 2200 + 3);
  expect_same(reference, run(GetParam(), config, rows, 1000, random), "floats");
  for (const Pulse& pulse : reference.pulses) EXPECT_TRUE(std::isfinite(pulse.snr));

  Rows<std::int32_t> integers = noise_rows<std::int32_t>(1, 17000, 50, 3, random);
  integers[0][11] = std::numeric_limits<std::int32_t>::min();
  integers[0][12] = std::numeric_limits<std::int32_t>::max();
  const Found limits = run("reference", config, integers, 17000, random);
  EXPECT_EQ(limits.counters.missing, 2u);
  expect_same(limits, run(GetParam(), config, integers, 1000, random), "integers");
}

TEST_P(Backend, FindsNothingWhereNothingChanges) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.threshold = 0.5;
  for (const std::size_t samples : {1u, 100u, 5000u, 40000u}) {
    const Rows<std::int32_t> integers(2, std::vector<std::int32_t>(samples, -77));
    EXPECT_TRUE(run(GetParam(), config, integers, samples, random).pulses.empty()) << samples;
    const Rows<float> floats(2, std::vector<float>(samples, 0.1f));
    EXPECT_TRUE(run(GetParam(), config, floats, samples, random).pulses.empty()) << samples;
    const Rows<float> nothing(1, std::vector<float>(samples, std::nanf("")));
    EXPECT_TRUE(run(GetParam(), config, nothing, samples, random).pulses.empty()) << samples;
  }
}

// The MAD of a few may be far too small.
TEST_P(Backend, FindsNothingInAFewSamples) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.threshold = 20;  // above noise of 128 samples, whose sigma may be too small by a third
  std::normal_distribution<float> normal;
  for (const std::size_t samples : {2u, 20u, 127u, 128u}) {
    Rows<float> series(1, std::vector<float>(samples));
    for (float& value : series.front()) value = normal(random);
    series.front()[samples / 2] = 1000;
    const auto pulses = run(GetParam(), config, series, samples, random).pulses;
    EXPECT_EQ(pulses.size(), samples < 128 ? 0u : 1u) << samples;
  }
  // Enough samples, too few of them with a value.
  Rows<float> series(1, std::vector<float>(400, std::nanf("")));
  for (std::size_t t = 0; t < 127; ++t) series.front()[2 * t] = normal(random);
  series.front()[100] = 1000;
  EXPECT_TRUE(run(GetParam(), config, series, 400, random).pulses.empty());
}

INSTANTIATE_TEST_SUITE_P(Cpu, Backend,
                         ::testing::Values("cpu:portable", "cpu:avx2", "cpu:avx512", "cpu:vnni",
                                           "cpu:amx"),
                         [](const auto& info) { return info.param.substr(4); });
INSTANTIATE_TEST_SUITE_P(Gpu, Backend, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::detect
