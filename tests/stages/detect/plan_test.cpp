// Plans: what they refuse, their memory, their boxcars and their latency; and S/N that was calculated by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stages/detect/detect.h"
#include "tests/stages/detect/support.h"
#include "tests/support/error_of.h"

namespace tautline::stages::detect {
namespace {

TEST(Config, RefusalsNameTheField) {
  const auto device = device::open(device::parse_selection("cpu"));
  const auto expect = [&](Config config, const std::string& field) {
    const core::Error error = tests::error_of([&] { make_plan(config, device); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_NE(error.field().find(field), std::string::npos) << error.what();
  };
  const double nan = std::nan("");
  expect({.trials = 0}, "trials");
  expect({.type = core::SampleType::i16}, "type");
  expect({.max_samples = 0}, "max_samples");
  for (const double bad : {0.0, -1.0, nan, static_cast<double>(INFINITY)}) {
    expect({.sample_time_s = bad}, "sample_time_s");
    expect({.threshold = bad}, "threshold");
    expect({.max_width_s = bad}, "max_width_s");
    if (bad != 0) expect({.baseline_s = bad}, "baseline_s");
  }
  expect({.sample_time_s = 1, .max_width_s = 0.5}, "max_width_s");
  expect({.sample_time_s = 1e-6, .max_width_s = 1}, "max_width_s");
  expect({.max_width_s = 0.5, .baseline_s = 1.9}, "baseline_s");
  expect({.links = {.width_octaves = 64}}, "width_octaves");
}

TEST(Config, SeriesMustBeThePlans) {
  const auto device = device::open(device::parse_selection("cpu"));
  const auto queue = device->make_queue();
  const auto plan = make_plan({.trials = 2, .max_samples = 10}, device);
  const auto state = plan->make_state(*queue);
  std::vector<std::int32_t> x(100);
  std::vector<float> f(100);
  EXPECT_THROW(plan->execute(*queue, *state, Integers(x.data(), {3, 5})), core::Error);
  EXPECT_THROW(plan->execute(*queue, *state, Integers(x.data(), {2, 11})), core::Error);
  EXPECT_THROW(plan->execute(*queue, *state, Integers(x.data(), {2, 5}, {20, 2})), core::Error);
  EXPECT_THROW(plan->execute(*queue, *state, Floats(f.data(), {2, 5})), core::Error);
  plan->execute(*queue, *state, Integers(x.data(), {2, 5}));
  plan->execute(*queue, *state, Integers(x.data(), {2, 0}));
  plan->finish(*queue, *state);
  plan->finish(*queue, *state);  // nothing more
  EXPECT_THROW(plan->execute(*queue, *state, Integers(x.data(), {2, 5})), core::Error);
}

// Every worker has scratch memory of its own.
TEST(Plan, ItsBytesGrowWithTheWorkers) {
  const auto with = [](std::size_t threads) {
    const auto device = device::open({}, {.threads = threads});
    return std::pair(device->make_queue()->workers(),
                     make_plan({.sample_time_s = 1e-3}, device)->bytes().host_bytes);
  };
  const auto [one_worker, bytes] = with(1);
  const auto [workers, more_bytes] = with(0);
  if (workers == 1) GTEST_SKIP() << "one core";
  const auto [two_workers, two_bytes] = with(2);
  ASSERT_EQ(two_workers, 2 * one_worker);
  EXPECT_GT(two_bytes, bytes);
  EXPECT_EQ(more_bytes - bytes, (workers - 1) * (two_bytes - bytes));
}

TEST(Widths, KeepNinetyFivePercentOfEveryRectangle) {
  for (const std::size_t largest : {1u, 2u, 3u, 5u, 9u, 64u, 100u, 1000u, 65536u}) {
    const auto widths = boxcar_widths(largest);
    EXPECT_EQ(widths.front(), 1u);
    EXPECT_EQ(widths.back(), largest);
    for (std::size_t power = 1; power <= largest; power *= 2)
      EXPECT_TRUE(std::find(widths.begin(), widths.end(), power) != widths.end()) << power;
    std::size_t at = 0;
    for (std::size_t w = 1; w <= largest; ++w) {
      while (at + 1 < widths.size() && widths[at + 1] <= w) ++at;
      double kept = std::sqrt(static_cast<double>(widths[at]) / static_cast<double>(w));
      if (at + 1 < widths.size())
        kept =
            std::max(kept, std::sqrt(static_cast<double>(w) / static_cast<double>(widths[at + 1])));
      ASSERT_GE(kept, 0.95 - 1e-12) << w << " of " << largest;
    }
  }
  EXPECT_LE(boxcar_widths(65536).size(), 66u);
}

// A pulse is known when 18 segments of the baseline, its block of noise and three of the widest boxcars have passed
// (docs/maths/detect.md).
TEST(Reference, APulseIsKnownWithinTheLatencyOfItsPlan) {
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.05;
  config.baseline_s = 0.4;
  config.noise_s = 1.1;
  const auto device = device::open({});
  const auto plan = make_plan(config, device);
  const std::size_t latency = plan->latency_samples();
  EXPECT_LE(latency, 18 * plan->baseline_samples() / 33 + 1100 + 3 * 50 + 8);
  for (int k = 0; k < 20; ++k) {
    const std::size_t end = 3000 + random() % 2000, width = 1 + random() % 50;
    Rows<std::int32_t> rows = noise_rows<std::int32_t>(1, 9000, 40, 0, random);
    for (std::size_t t = end - width; t < end; ++t) rows[0][t] += 2000;
    CaseRun calls(device);
    calls.use(plan);
    bool found = false;
    for (std::size_t t = 0; t < end + latency; ++t)
      calls.give(Integers(rows[0].data() + t, {1, 1}));
    for (const Pulse& pulse : calls.state().take())
      found = found || (pulse.first < end && pulse.first + pulse.width + 2 * width > end);
    EXPECT_TRUE(found) << "a pulse of " << width << " samples that ends at " << end;
  }
}

// A pulse whose noise and S/N are calculated by hand.
TEST(Reference, ReportsTheBoxcarItsTimeAndItsSignalToNoise) {
  // Alternating +-1: the mean is 0, and the median of |y| is 1, also with the spread of +-1/2.
  constexpr std::size_t kSamples = 20000;
  Rows<std::int32_t> rows(1, std::vector<std::int32_t>(kSamples));
  for (std::size_t t = 0; t < kSamples; ++t) rows[0][t] = t % 2 == 0 ? 10 : 12;
  for (std::size_t t = 5000; t < 5008; ++t) rows[0][t] += 60;
  auto random = tests::generator();
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = 0.02;
  config.baseline_s = 3.3;
  const Found found = run("reference", config, rows, kSamples, random);
  ASSERT_EQ(found.pulses.size(), 1u);
  const Pulse& pulse = found.pulses[0];
  EXPECT_EQ(pulse.width, 8u);
  EXPECT_EQ(pulse.first, 5000u);
  EXPECT_EQ(pulse.sample(), 5004u);
  EXPECT_EQ(pulse.trial, 0u);
  EXPECT_EQ(pulse.members, 1u);
  // The interquartile mean leaves out the pulse's segment; sigma is that of a MAD of 1.
  const double sigma = std::sqrt(1.4826 * 1.4826 - 1.0 / 12);
  const double expected = 8 * 60 / (sigma * std::sqrt(8.0));
  EXPECT_NEAR(pulse.snr, expected, 0.01 * expected);
}

}  // namespace
}  // namespace tautline::stages::detect
