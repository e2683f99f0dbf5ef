// The harness of benchmarks: series with the pulses that the case says, and calls that find them.
#include "tautline/stages/detect/case_run.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/gpus.h"

namespace tautline::stages::detect {
namespace {

Case small_case(std::size_t pulses) {
  Case c;
  c.config = {.trials = 12, .sample_time_s = 1e-3, .threshold = 8};
  c.samples = c.config.max_samples = 9000;
  c.pulses = pulses;
  c.snr = 60;
  return c;
}

class Harness : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }
};

// From the first call on, each searches as many times as it gives, and finds the case's pulses.
TEST_P(Harness, CallsAreThoseInTheMiddleOfAStream) {
  const auto device = device::open(device::parse_selection(GetParam()), {.threads = 2});
  for (const core::SampleType type : {core::SampleType::i32, core::SampleType::f32}) {
    std::uint64_t without = 0, with = 0;
    for (const std::size_t pulses : {0, 3}) {
      Case c = small_case(pulses);
      c.config.type = type;
      CaseRun calls(c, device);
      calls.use(make_plan(c.config, device));
      const Counters before = calls.state().counters();
      EXPECT_GT(before.samples, 0u);
      calls.run(20);
      calls.end_stream();
      const Counters after = calls.state().counters();
      EXPECT_EQ(after.samples, before.samples + 20 * c.samples);
      EXPECT_EQ(after.searched, after.samples);
      (pulses == 0 ? without : with) = after.detections;
    }
    EXPECT_EQ(without, 0u);
    EXPECT_GE(with, 3u * 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Harness, ::testing::ValuesIn(tests::gpu_names_and_cpu()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(Series, HoldThePulsesOfTheirCase) {
  const Case c = small_case(1);
  const auto series = make_series<float>(c);
  ASSERT_EQ(series.size(), c.config.trials * c.samples);
  const auto pulses =
      detect(c.config, core::View<const float, 2>(series.data(), {c.config.trials, c.samples}));
  ASSERT_FALSE(pulses.empty());
  // Half a trial away a pulse of 10 samples or more is smeared to twice its width at most.
  EXPECT_NEAR(pulses[0].snr, c.snr, 0.3 * c.snr);
}

// Smeared to earlier times by 20 samples a trial; all end together.
TEST(Series, ImpulsesAreInEveryTrialAtOneTime) {
  Case c = small_case(0);
  c.impulses_every = 3000;
  const auto series = make_series<std::int32_t>(c);
  ASSERT_EQ(series.size(), c.config.trials * c.samples);
  for (std::size_t t = 0; t < c.config.trials; ++t)
    for (const std::size_t at : {1500u, 4500u, 7500u}) {
      const auto mean_from = [&](std::size_t first) {
        const auto begin = series.begin() + static_cast<std::ptrdiff_t>(t * c.samples + first);
        return std::accumulate(begin, begin + 20, 0.0) / 20;
      };
      EXPECT_GT(mean_from(at - 10), kNoiseLevel + 5 * kNoiseSigma) << t << " at " << at;
      EXPECT_NEAR(mean_from(at + 20), kNoiseLevel, 1.5 * kNoiseSigma) << t << " at " << at;
    }
}

}  // namespace
}  // namespace tautline::stages::detect
