// Sums equal the reference bit for bit, on every instruction set, and the reference equals the
// definitions.
#include <cstdlib>

#include "tests/stages/autocorrelate/closed_form.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

// The chain as first published, with n counted from 1:
//   out[bins g + x] = sum over n = w, 2w, ... of W_n W_(n - L),  W_t = y[t - w + 1] + ... + y[t]
std::vector<std::int64_t> closed_form(const std::vector<std::uint8_t>& y, std::int64_t bins,
                                      std::int64_t levels) {
  const auto samples = static_cast<std::int64_t>(y.size());
  const auto window = [&](std::int64_t t, std::int64_t w) {
    std::int64_t sum = 0;
    for (std::int64_t i = std::max<std::int64_t>(1, t - w + 1); i <= t; ++i)
      sum += y[static_cast<std::size_t>(i - 1)];
    return sum;
  };
  std::vector<std::int64_t> out;
  for (std::int64_t g = 0; g < levels; ++g)
    for (std::int64_t x = 0; x < bins; ++x) {
      const std::int64_t w = std::int64_t{1} << g, lag = bins * (w - 1) + x * w;
      std::int64_t sum = 0;
      for (std::int64_t n = w; n <= samples; n += w) sum += window(n, w) * window(n - lag, w);
      out.push_back(sum);
    }
  return out;
}

// The standard lags as a double loop over series that are summed in pairs.
std::vector<std::int64_t> double_loop(const std::vector<std::uint8_t>& y, std::size_t m,
                                      std::size_t levels) {
  std::vector<std::int64_t> series(y.begin(), y.end()), out;
  for (std::size_t level = 0; level < levels; ++level) {
    for (std::size_t k = level == 0 ? 0 : m / 2 + 1; k <= m; ++k) {
      std::int64_t sum = 0;
      for (std::size_t n = 0; n + k < series.size(); ++n) sum += series[n] * series[n + k];
      out.push_back(sum);
    }
    std::vector<std::int64_t> next;
    for (std::size_t n = 0; n + 2 <= series.size(); n += 2)
      next.push_back(series[n] + series[n + 1]);
    series = next;
  }
  return out;
}

TEST(Reference, ChainIsTheClosedForm) {
  for (const std::size_t bins : {1u, 3u, 4u, 32u})
    for (const std::size_t samples : {1u, 2u, 31u, 32u, 33u, 97u, 1000u}) {
      const auto y = random_counts<std::uint8_t>(samples, 1, 255);
      const Config config{.bins = bins, .levels = bins == 32 ? 4u : 7u};
      const auto result = run_on(kReference, config, y);
      EXPECT_EQ(result.sums, closed_form(y, static_cast<std::int64_t>(bins),
                                         static_cast<std::int64_t>(config.levels)))
          << bins << " bins, " << samples << " samples";
    }
}

// The paper's 10 groups of 32, around the lengths at which the longest lag has its first pair
// (32,736) and level 9 one window more (33,280). From level 6 on, delayed windows do not start at
// block boundaries.
TEST(Reference, TenGroupsOfThirtyTwoAreTheClosedForm) {
  const bool small = std::getenv("TAUTLINE_SMALL") != nullptr;
  for (const std::size_t samples :
       {16'864u, 32'735u, 32'736u, 32'737u, 33'000u, 33'279u, 33'280u}) {
    if (small && samples != 32'736 && samples != 33'280) continue;
    const auto y = random_counts<std::uint8_t>(samples, 1, 255);
    const auto result = run_on(kReference, {}, y);
    EXPECT_EQ(result.sums, closed_form(y, 32, 10)) << samples << " samples";
    expect_closed_form({}, result, y, std::to_string(samples) + " samples");
  }
}

TEST(Reference, StandardIsTheDoubleLoop) {
  for (const std::size_t m : {2u, 4u, 16u})
    for (const std::size_t samples : {1u, 2u, 15u, 16u, 17u, 97u, 1000u}) {
      const auto y = random_counts<std::uint8_t>(samples, 1, 255);
      const Config config{.lag_scheme = LagScheme::standard, .bins = m, .levels = 6};
      const auto result = run_on(kReference, config, y);
      EXPECT_EQ(result.sums, double_loop(y, m, 6)) << "m " << m << ", " << samples << " samples";
      EXPECT_EQ(result.lead_in, std::vector<std::int64_t>(result.sums.size(), 0));
    }
}

// Counts and monitors are over the pairs of the sums without the lead-in: for series of ones, all
// four are equal.
TEST(Reference, OnesGiveCountsAndMonitors) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{.lag_scheme = scheme, .bins = 6, .levels = 5};
    const auto result = run_on(kReference, config, std::vector<std::uint8_t>(777, 1));
    const auto lags = lags_of(config);
    for (std::size_t l = 0; l < lags.size(); ++l) {
      const std::int64_t w = std::int64_t{1} << lags[l].level;
      EXPECT_EQ(result.sums[l] - result.lead_in[l], result.counts[l] * w * w);
      EXPECT_EQ(result.direct[l], result.counts[l] * w);
      EXPECT_EQ(result.delayed[l], result.counts[l] * w);
    }
  }
}

class Exact : public EachBackend {
 protected:
  template <class Count>
  void check(const Config& config, const std::vector<Count>& data, const Tunables& tunables = {}) {
    const auto made = plan(config, tunables);
    const std::string where = config_text(config, data.size() / config.sensors) + ", block " +
                              std::to_string(tunables.block_samples);
    expect_equal(config, run(*made, queue(), data), run_on(kReference, config, data), where);
  }
};

constexpr Tunables kSmallBlocks{.block_samples = 64, .series_block_samples = 1024};
constexpr Tunables kLanesAreSensors{.block_samples = 64, .series_pairs = 0};

TEST_P(Exact, EveryNumberOfSensors) {
  for (const std::size_t sensors : kTestSensors)
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
      const Config config{.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5};
      const std::size_t samples = sensors > 100 ? 333 : 1111;
      check(config, random_counts<std::uint8_t>(samples, sensors, 255), kSmallBlocks);
    }
}

TEST_P(Exact, LengthsAroundEveryBoundary) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
      const Config config{.sensors = 2, .lag_scheme = scheme, .bins = 4, .levels = 5};
      for (std::size_t samples = 1; samples < 140; ++samples)
        check(config, random_counts<std::uint8_t>(samples, 2, 255), tunables);
      for (const std::size_t level : {6u, 7u, 8u, 9u, 10u, 11u, 12u})
        for (const int beside : {-1, 0, 1}) {
          const auto samples = static_cast<std::size_t>((1 << level) + beside);
          check(config, random_counts<std::uint8_t>(samples, 2, 255), tunables);
        }
    }
}

TEST_P(Exact, BinsAndLevels) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const std::size_t bins : {1u, 2u, 3u, 5u, 8u, 12u, 13u, 16u, 17u, 32u, 34u, 100u}) {
      const auto data = random_counts<std::uint8_t>(1500, 3, 255);
      check({.sensors = 3, .bins = bins, .levels = 4}, data, tunables);
      if (bins % 2 == 0)
        check({.sensors = 3, .lag_scheme = LagScheme::standard, .bins = bins, .levels = 4}, data,
              tunables);
    }
}

// The paper's array: 10 groups of 32, where delayed windows from level 6 on do not start at block
// boundaries, in runs in which every level fills blocks.
TEST_P(Exact, TenGroupsOfThirtyTwo) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors}) {
    check({.sensors = 2, .max_samples = 100'000}, random_counts<std::uint8_t>(70'001, 2, 255),
          tunables);
    check({.sensors = 2, .max_samples = 100'000}, std::vector<std::uint8_t>(2 * 70'001, 255),
          tunables);
  }
}

TEST_P(Exact, TenGroupsOfThirtyTwoAreTheClosedForm) {
  for (const std::size_t sensors : {1u, 2u, 31u, 33u, 1249u}) {
    if (sensors > 100 && std::getenv("TAUTLINE_SMALL") != nullptr) continue;
    const Config config{.sensors = sensors};
    // The large array's run reaches level 9, which starts at lag 16,352.
    const std::size_t samples = sensors > 100 ? 16'999 : 33'281;
    const auto data = random_counts<std::uint8_t>(samples, sensors, 255);
    const auto made = plan(config);
    expect_closed_form(config, run(*made, queue(), data), data, config_text(config, samples));
  }
}

TEST_P(Exact, SixteenBits) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const double most : {255., 300., 32767., 32768., 65535.})
      for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
        check({.sensors = 3, .lag_scheme = scheme, .bins = 6, .levels = 9, .type = SampleType::u16},
              random_counts<std::uint16_t>(3001, 3, most), tunables);
  check({.sensors = 33, .bins = 6, .levels = 5, .type = SampleType::u16},
        random_counts<std::uint16_t>(500, 33, 65535), kSmallBlocks);
}

TEST_P(Exact, ThirtyTwoBits) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const double most : {7., 40'000., 1e6})
      check({.sensors = 3, .bins = 6, .levels = 9, .type = SampleType::u32},
            random_counts<std::uint32_t>(3001, 3, most), tunables);
  check({.sensors = 2, .bins = 6, .levels = 1, .type = SampleType::u32},
        std::vector<std::uint32_t>{2147483651u, 2147483649u, 4294967u, 5});
}

TEST_P(Exact, Floats) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
      Config config{
          .sensors = 3, .lag_scheme = scheme, .bins = 6, .levels = 5, .type = SampleType::f32};
      const auto data = random_counts<float>(2001, 3, 10);
      const auto made = plan(config, tunables);
      const auto got = run(*made, queue(), data), expected = run_on(kReference, config, data);
      expect_equal(config, got.sums, expected.sums, "sums", "floats");
      config.type = SampleType::f64;
      const auto of_doubles = plan(config, tunables);
      const auto doubles = run(*of_doubles, queue(), std::vector<double>(data.begin(), data.end()));
      expect_equal(config, doubles.sums, expected.sums, "sums", "doubles");
      expect_equal(config, doubles.direct, got.direct, "direct", "doubles");
      expect_equal(config, doubles.lead_in, got.lead_in, "lead_in", "doubles");
      for (std::size_t i = 0; i < got.direct.size(); ++i) {
        EXPECT_NEAR(got.direct[i], expected.direct[i], kFloatMonitorTolerance * expected.totals[0]);
        EXPECT_NEAR(got.delayed[i], expected.delayed[i],
                    kFloatMonitorTolerance * expected.totals[0]);
        EXPECT_NEAR(got.lead_in[i], expected.lead_in[i],
                    kFloatMonitorTolerance * expected.totals[0] * 1000);
      }
    }
}

// Doubles are added in the reference's order, whether the lanes are sensors, lags or times.
TEST_P(Exact, Doubles) {
  auto random = generator();
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const std::size_t sensors : {1u, 3u, 16u, 17u, 64u, 70u})
      for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
        constexpr std::size_t kBins[] = {2, 6, 8, 16, 18, 24, 32, 34, 66};
        const Config config{.sensors = sensors,
                            .lag_scheme = scheme,
                            .bins = kBins[random() % std::size(kBins)],
                            .levels = 1 + random() % 5,
                            .coarsening = static_cast<Coarsening>(random() % 3),
                            .type = SampleType::f64};
        const std::size_t samples = 1 + random() % 1500;
        std::vector<double> data(samples * sensors);
        for (double& value : data) value = std::normal_distribution<double>(1, 3)(random);
        const auto made = plan(config, tunables);
        const auto got = run(*made, queue(), data), expected = run_on(kReference, config, data);
        const std::string where = config_text(config, samples);
        expect_equal(config, got.sums, expected.sums, "sums", where);
        EXPECT_EQ(got.counts, expected.counts) << where;
        const double tolerance = kFloatMonitorTolerance * 10 * static_cast<double>(samples);
        for (std::size_t i = 0; i < got.sums.size(); ++i) {
          ASSERT_NEAR(got.direct[i], expected.direct[i], tolerance) << where;
          ASSERT_NEAR(got.delayed[i], expected.delayed[i], tolerance) << where;
        }
        for (std::size_t i = 0; i < got.totals.size(); ++i)
          ASSERT_NEAR(got.totals[i], expected.totals[i], tolerance) << where;
      }
}

TEST_P(Exact, Coarsenings) {
  for (const Tunables& tunables : {kSmallBlocks, kLanesAreSensors})
    for (const Coarsening coarsening : {Coarsening::first, Coarsening::second})
      for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
        for (const std::size_t bins : {6u, 32u})
          check({.sensors = 3,
                 .lag_scheme = scheme,
                 .bins = bins,
                 .levels = 6,
                 .coarsening = coarsening},
                random_counts<std::uint8_t>(2500, 3, 255), tunables);
}

TEST_P(Exact, PairsOfSensors) {
  const std::size_t sensors = 21;
  std::vector<Pair> pairs;
  auto random = generator();
  for (int i = 0; i < 37; ++i)
    pairs.push_back({static_cast<std::uint32_t>(random() % sensors),
                     static_cast<std::uint32_t>(random() % sensors)});
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    check({.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5, .pairs = pairs},
          random_counts<std::uint8_t>(999, sensors, 255), kSmallBlocks);
    check({.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5, .pairs = {{3, 20}}},
          random_counts<std::uint8_t>(2999, sensors, 255), kSmallBlocks);
  }
}

// Constant counts have sums in closed form, for runs too long for the reference. 32-bit sums of
// level 9 would wrap after 128 windows.
TEST_P(Exact, SumsFarBeyond32Bits) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{.sensors = 16, .lag_scheme = scheme, .max_samples = 1 << 16};
    const std::size_t samples = 60'000, calls = 20;
    const auto made = plan(config);
    const auto state = made->make_state(queue());
    const std::vector<std::uint8_t> data(samples * config.sensors, 255);
    for (std::size_t i = 0; i < calls; ++i)
      made->execute(queue(), *state, view_of(data, config.sensors));
    Result<std::int64_t> result(config);
    made->read(queue(), *state, result.views());
    expect_constant(config, result, samples * calls, 255, std::int64_t{1} << 34);
  }
}

// Totals and monitors of full-scale counts, far beyond 32 bits.
TEST_P(Exact, TotalsAndMonitorsBeyond32Bits) {
  const auto check_full_scale = [&]<class Count>(Count full, std::size_t sensors, SampleType type) {
    const Config config{
        .sensors = sensors, .bins = 2, .levels = 3, .type = type, .max_samples = 1 << 18};
    const std::size_t calls = (std::size_t{1} << 32) / full / config.max_samples + 1;
    const std::vector<Count> data(config.max_samples * sensors, full);
    const auto made = plan(config);
    const auto state = made->make_state(queue());
    for (std::size_t i = 0; i < calls; ++i) made->execute(queue(), *state, view_of(data, sensors));
    Result<std::int64_t> result(config);
    made->read(queue(), *state, result.views());
    expect_beyond_32_bits(config, result, calls * config.max_samples, full);
  };
  check_full_scale(std::uint8_t{255}, 1, SampleType::u8);
  check_full_scale(std::uint16_t{65535}, 1, SampleType::u16);
  check_full_scale(std::uint16_t{65535}, 17, SampleType::u16);
  check_full_scale(std::uint32_t{40'000}, 3, SampleType::u32);
}

// 16 and 64 neighbouring sensors have kernels of their own for the input; strides, offsets and
// shuffled pairs use the general one.
TEST_P(Exact, StridedSamples) {
  constexpr std::size_t kSamples = 700, kRow = 200;
  for (const std::size_t sensors : {16u, 80u}) {
    const Config config{.sensors = sensors, .bins = 6, .levels = 4};
    const auto wide = random_counts<std::uint8_t>(kSamples, kRow, 255);
    std::vector<std::uint8_t> every_second, shifted;
    for (std::size_t t = 0; t < kSamples; ++t)
      for (std::size_t s = 0; s < sensors; ++s) {
        every_second.push_back(wide[t * kRow + 2 * s]);
        shifted.push_back(wide[t * kRow + 3 + s]);
      }
    const auto made = plan(config);
    const auto check_view = [&](const std::uint8_t* data, std::ptrdiff_t sensor_stride,
                                const std::vector<std::uint8_t>& dense) {
      const auto state = made->make_state(queue());
      made->execute(queue(), *state,
                    Samples<std::uint8_t>(data, {kSamples, sensors}, {kRow, sensor_stride}));
      Result<std::int64_t> result(config);
      made->read(queue(), *state, result.views());
      expect_equal(config, result, run_on(kReference, config, dense), "strides");
    };
    check_view(wide.data(), 2, every_second);
    check_view(wide.data() + 3, 1, shifted);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Exact, ::testing::ValuesIn(kBackends),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests
