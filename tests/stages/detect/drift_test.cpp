// A level that drifts: the baseline follows it up to both ends of a stream.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tautline/stages/detect/segment_means.h"
#include "tests/stages/detect/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::detect {
namespace {

using Level = std::function<double(double)>;  // of the place in the stream, 0 to 1

constexpr std::size_t kSamples = 40'000;
constexpr double kSigma = 30;

// Boxcars up to 0.1 s, a baseline of 1.6 s.
Config drift_config() {
  return config_for(0.1, 7);
}

// Trials of which each ends some samples sooner than the one before.
template <class T>
Rows<T> drifting_rows(const Level& level, const std::vector<AddedPulse>& pulses,
                      std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, kSigma);
  Rows<T> rows;
  for (std::size_t trial = 0; trial < 3; ++trial) {
    std::vector<double> series(kSamples);
    for (std::size_t t = 0; t < kSamples; ++t)
      series[t] = level(static_cast<double>(t) / static_cast<double>(kSamples)) + normal(random);
    for (const AddedPulse& pulse : pulses) add_pulse(series, pulse, kSigma);
    rows.emplace_back();
    for (const double x : series)
      rows.back().push_back(std::is_same_v<T, float> ? static_cast<T>(x)
                                                     : static_cast<T>(std::lround(x)));
  }
  return rows;
}

Level linear(double change) {
  return [=](double place) { return 10'000 + change * place; };
}
// A receiver that settles, with a time constant of a fifth of the stream.
Level settling(double change) {
  return [=](double place) { return 10'000 + change * std::exp(-5 * place); };
}

class Drift : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() != "reference") SKIP_WITHOUT_DEVICE(GetParam());
  }
  template <class T>
  Found search(const Config& config, const Rows<T>& rows, std::size_t step) {
    return run(GetParam(), config, rows, step, random);
  }
  std::mt19937_64 random = tests::generator();
};

// With a flat baseline at the ends these have S/N of 20 and more there.
TEST_P(Drift, MakesNoPulsesAtTheEnds) {
  Config config = drift_config();
  config.lengths = {kSamples, kSamples - 1 - random() % 500, kSamples - 500 - random() % 500};
  for (const Level& level : {linear(100 * kSigma), linear(-100 * kSigma), settling(25 * kSigma),
                             settling(-25 * kSigma)}) {
    const auto integers = drifting_rows<std::int32_t>(level, {}, random);
    for (const Pulse& pulse : search(config, integers, kSamples / 3).pulses)
      ADD_FAILURE() << "S/N " << pulse.snr << " at " << pulse.first << ", width " << pulse.width;
    const auto floats = drifting_rows<float>(level, {}, random);
    EXPECT_TRUE(search(config, floats, kSamples).pulses.empty());
  }
}

TEST_P(Drift, EqualsTheReference) {
  Config config = config_for(0.1, 4);
  config.lengths = {kSamples, kSamples - 1 - random() % 500, kSamples - 500 - random() % 500};
  for (const double change : {3.0, -12.0, 200.0}) {
    for (const Level& level : {linear(change * kSigma), settling(change * kSigma)}) {
      const std::string what = std::to_string(change);
      const auto integers = drifting_rows<std::int32_t>(level, {{300, 20, 12}}, random);
      expect_same(run("reference", config, integers, kSamples, random),
                  search(config, integers, 1 + random() % 9000), what);
      const auto floats = drifting_rows<float>(level, {{kSamples - 900, 40, 15}}, random);
      expect_same(run("reference", config, floats, kSamples, random),
                  search(config, floats, 1 + random() % 9000), what);
    }
  }
}

TEST_P(Drift, KeepsPulsesAtTheEnds) {
  const std::size_t at_start = 60 + random() % 600, at_end = kSamples - 60 - random() % 600;
  const auto rows = drifting_rows<std::int32_t>(
      linear(50 * kSigma),
      {{static_cast<double>(at_start), 30, 40}, {static_cast<double>(at_end), 30, 40}}, random);
  const std::vector<Pulse> pulses = search(drift_config(), rows, 3000).pulses;
  ASSERT_EQ(pulses.size(), 2u);
  for (const Pulse& pulse : pulses) {
    const std::size_t there = pulse.first < kSamples / 2 ? at_start : at_end;
    EXPECT_NEAR(static_cast<double>(pulse.first) + static_cast<double>(pulse.width) / 2,
                static_cast<double>(there), 10);
    EXPECT_NEAR(pulse.snr, 0.943 * 40, 6);
  }
}

// The probability is 1.3e-3 where values are normal.
TEST(DriftOfAWindow, IsNoneOfNoiseAndIsMeasured) {
  auto random = tests::generator();
  std::normal_distribution<double> normal;
  std::array<double, kWindowSegments> window{};
  std::size_t drifts = 0;
  for (int n = 0; n < 20'000; ++n) {
    for (double& mean : window) mean = normal(random);
    if (drift_of(window.data()) != 0) ++drifts;
  }
  EXPECT_LE(drifts, 90u);
  for (int n = 0; n < 1000; ++n) {
    for (std::size_t k = 0; k < window.size(); ++k)
      window[k] = 3.0 * static_cast<double>(k) + normal(random);
    // A bright pulse in three of the segments.
    for (int k = 0; k < 3; ++k) window[random() % kWindowSegments] += 1000;
    EXPECT_NEAR(drift_of(window.data()), 3, 1.2);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Drift,
                         ::testing::Values("reference", "cpu:portable", "cpu:avx2", "cpu:avx512"),
                         [](const auto& info) {
                           return info.param == "reference" ? info.param : info.param.substr(4);
                         });
INSTANTIATE_TEST_SUITE_P(Gpu, Drift, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::detect
