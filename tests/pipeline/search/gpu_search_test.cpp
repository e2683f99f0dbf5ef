// The whole search on every device that compiles, against the CPU's.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tests/pipeline/search/float_filterbank.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

class SearchOnGpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    if (tests::compiles_slowly(GetParam())) GTEST_SKIP() << "a CPU's OpenCL: with TAUTLINE_FULL";
  }

  std::string simulate(int bits, double duration_s) {
    SimulateFilterbankConfig config;
    auto& s = config.scene;
    s.channels = 32;
    s.fch1_mhz = 1500;
    s.foff_mhz = -8;
    s.tsamp_s = 512e-6;
    s.bits = bits;
    s.start = core::parse_utc("2026-01-01-00:00:00");
    s.pulses = {{2.0, 60, 0.004, 25, 0, 0}, {5.0, 20, 0.002, 20, 0, 0}, {6, 120, 0.01, 30, 0, 0}};
    config.output = folder / "a.fil";
    config.duration_s = duration_s;
    config.seed = tests::generator()();
    config.overwrite = true;
    simulate_filterbank(config);
    return config.output;
  }
  SearchConfig config_for(const std::string& input) {
    SearchConfig config;
    config.inputs = {input};
    config.output = folder / "c.csv";
    config.overwrite = true;
    config.dms.high = 130;
    config.dms.step = 2;
    config.max_width_s = 0.05;
    // Both sides add the same: sums of integers are exact, sub-bands are not what is tested here.
    config.method = stages::dedisperse::Method::exact;
    return config;
  }
  SearchSummary search(const SearchConfig& config, const std::string& device) {
    return search_filterbank(config, device::open(device::parse_selection(device)));
  }
  void expect_same(const SearchConfig& config, const std::string& what) {
    const SearchSummary host = search(config, "cpu"), here = search(config, GetParam());
    EXPECT_EQ(here.candidates, host.candidates) << what;
    EXPECT_EQ(here.detections, host.detections) << what;
    EXPECT_EQ(here.not_finite, host.not_finite) << what;
    const std::string api = GetParam().substr(0, GetParam().find(':'));
    EXPECT_EQ(here.backend, api);
    EXPECT_EQ(here.detect_backend, api);
  }
  tests::ScratchFolder folder;
};

TEST_P(SearchOnGpu, GivesTheSameListForEveryDepth) {
  for (const int bits : {8, 2, 16}) {
    SearchConfig config = config_for(simulate(bits, 8));
    config.threshold = 5.5;
    expect_same(config, std::to_string(bits) + " bits");
    config.ignored_channels = {0, 5, 6, 31};
    if (bits == 8) expect_same(config, "channels left out");
    config.noise = stages::detect::Noise::width;
    if (bits == 8) expect_same(config, "noise of each width");
  }
}

TEST_P(SearchOnGpu, GivesTheSameListForDownsampledSegments) {
  SearchConfig config = config_for(simulate(8, 9));
  config.dms.high = 800;
  config.dms.step = 0;
  config.dms.tolerance = 1.25;
  config.dms.pulse_width_s = 1e-3;
  config.dms.downsample_tolerance = 1.2;
  expect_same(config, "segments");
}

// Both sides sum whole numbers.
TEST_P(SearchOnGpu, GivesTheSameListWithZeroDm) {
  for (const int bits : {8, 2}) {
    SearchConfig config = config_for(simulate(bits, 8));
    config.zero_dm = true;
    config.threshold = 5.5;
    expect_same(config, std::to_string(bits) + " bits, zero-DM");
  }
}

// The two sides round their sums in their own ways.
TEST_P(SearchOnGpu, FindsTheSamePulsesInFloats) {
  const SearchConfig config = config_for(simulate(32, 8));
  const SearchSummary host = search(config, "cpu"), here = search(config, GetParam());
  ASSERT_GE(host.candidates.size(), 3u);
  ASSERT_GE(here.candidates.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    // The widest is 10 ms: boxcars that are equal but for rounding lie closer together.
    EXPECT_NEAR(here.candidates[k].time_s, host.candidates[k].time_s, 0.01);
    EXPECT_NEAR(here.candidates[k].snr, host.candidates[k].snr, 0.02 * host.candidates[k].snr);
  }
}

TEST_P(SearchOnGpu, ConstantDataAndWhatIsNotANumber) {
  constexpr std::size_t kChannels = 8;
  std::vector<float> samples(kChannels * 6000, 3.25f);
  SearchConfig config = config_for(tests::write_floats(folder, samples, kChannels));
  config.dms.high = 20;
  config.threshold = 3;
  EXPECT_TRUE(search(config, GetParam()).candidates.empty());
  auto random = tests::generator();
  std::normal_distribution<float> normal(10, 2);
  for (float& x : samples) x = normal(random);
  samples[kChannels * 3000 + 3] = std::nanf("");
  samples[kChannels * 3001 + 3] = std::numeric_limits<float>::infinity();
  config.inputs = {tests::write_floats(folder, samples, kChannels)};
  config.threshold = 6;
  const SearchSummary found = search(config, GetParam());
  EXPECT_EQ(found.not_finite, 2u);
  for (const auto& c : found.candidates) EXPECT_TRUE(std::isfinite(c.snr));
}

INSTANTIATE_TEST_SUITE_P(Devices, SearchOnGpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline
