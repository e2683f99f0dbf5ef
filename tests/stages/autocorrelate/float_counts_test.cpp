// Floats that are counts are summed as counts, all others as floats, and both are the reference's sums.
#include "tautline/stages/autocorrelate/cpu/float_counts.h"

#include <cmath>
#include <limits>

#include "tests/stages/autocorrelate/support.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class FloatCounts : public EachBackend {
 protected:
  // The one-call function on this backend gives the reference's sums, and takes the path that is expected.
  template <class Float>
  void check(Config config, const std::vector<Float>& data, bool counts) {
    config.type = std::is_same_v<Float, double> ? SampleType::f64 : SampleType::f32;
    const auto samples = view_of(data, config.sensors);
    Result<double> own(config), expected(config), asked(config);
    EXPECT_EQ(cpu::autocorrelate_counts(config, opened(GetParam()), samples, asked.views()),
              counts);
    autocorrelate(config, samples, own.views(), GetParam().selection);
    autocorrelate(config, samples, expected.views(), kReference.selection);
    const std::string where = config_text(config, data.size() / config.sensors);
    expect_equal(config, own.sums, expected.sums, "sums", where);
    EXPECT_EQ(own.counts, expected.counts);
    if (!counts) {
      EXPECT_EQ(asked.sums, std::vector<double>(asked.sums.size(), -77)) << "nothing is written";
      return;
    }
    // Sums below 2^53 are exact in doubles too.
    expect_equal(config, own, expected, where);
    EXPECT_EQ(own.direct, expected.direct);
    EXPECT_EQ(own.delayed, expected.delayed);
    EXPECT_EQ(asked.sums, own.sums);
  }

  template <class Float>
  static std::vector<Float> whole(std::size_t samples, std::size_t sensors, double most) {
    const auto counts = random_counts<std::uint16_t>(samples, sensors, most);
    return {counts.begin(), counts.end()};
  }
};

TEST_P(FloatCounts, WholeNumbers) {
  auto random = generator();
  for (const std::size_t sensors : {1u, 3u, 17u, 64u, 70u})
    for (const double most : {1., 255., 256., 65535.})
      for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
        const Config config{.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5};
        const std::size_t samples = 1 + random() % 900;
        check(config, whole<double>(samples, sensors, most), true);
        check(config, whole<float>(samples, sensors, most), true);
      }
}

// More samples than are made counts at a time.
TEST_P(FloatCounts, SeveralBlocks) {
  const Config config{.sensors = 33, .lag_scheme = LagScheme::standard, .bins = 4, .levels = 3};
  auto data = whole<double>(70'001, 33, 255);
  check(config, data, true);
  data.back() = 256;
  check(config, data, true);
  data.back() = 255.5;
  check(config, data, false);
}

TEST_P(FloatCounts, AnyOtherValueAnywhere) {
  auto random = generator();
  for (const double other : {0.5, -1., 65536., 254.99999999999997, 1e300, 5e-324, -1e10}) {
    const std::size_t sensors = 1 + random() % 20;
    auto data = whole<double>(300, sensors, 200);
    data[random() % data.size()] = other;
    check({.sensors = sensors, .bins = 4, .levels = 3}, data, false);
  }
  auto data = whole<double>(300, 7, 200);
  data[random() % data.size()] = -0.0;
  check({.sensors = 7, .bins = 4, .levels = 3}, data, true);
}

TEST_P(FloatCounts, NotFinite) {
  auto random = generator();
  for (const double other :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Config config{.sensors = 5, .bins = 4, .levels = 3, .type = SampleType::f64};
    auto data = whole<double>(300, 5, 200);
    data[random() % data.size()] = other;
    Result<double> result(config);
    EXPECT_FALSE(
        cpu::autocorrelate_counts(config, opened(GetParam()), view_of(data, 5), result.views()));
    autocorrelate(config, view_of(data, 5), result.views(), GetParam().selection);
    EXPECT_EQ(std::count_if(result.totals.begin(), result.totals.end(),
                            [](double total) { return !std::isfinite(total); }),
              2);
  }
}

TEST_P(FloatCounts, PairsOfSensors) {
  Config config{.sensors = 40, .lag_scheme = LagScheme::standard, .bins = 8, .levels = 4};
  for (std::uint32_t s = 0; s < 20; ++s) config.pairs.push_back({20 + s, s});
  check(config, whole<double>(777, 40, 255), true);
  auto data = whole<double>(777, 40, 255);
  data[33] += 0.25;
  check(config, data, false);
}

TEST_P(FloatCounts, RowsWithGaps) {
  const auto wide = whole<double>(500, 40, 255);
  std::vector<double> dense;
  for (std::size_t t = 0; t < 500; ++t)
    dense.insert(dense.end(), wide.begin() + static_cast<std::ptrdiff_t>(40 * t + 3),
                 wide.begin() + static_cast<std::ptrdiff_t>(40 * t + 20));
  const Config config{.sensors = 17, .bins = 6, .levels = 4, .type = SampleType::f64};
  Result<double> got(config), expected(config);
  const Samples<double> rows(wide.data() + 3, {500, 17}, {40, 1});
  ASSERT_TRUE(cpu::autocorrelate_counts(config, opened(GetParam()), rows, got.views()));
  autocorrelate(config, view_of(dense, 17), expected.views(), kReference.selection);
  expect_equal(config, got, expected, "rows with gaps");
  const Samples<double> sparse(wide.data(), {500, 17}, {40, 2});
  EXPECT_FALSE(cpu::autocorrelate_counts(config, opened(GetParam()), sparse, got.views()));
}

// 65,535^2 x 2^39 windows could exceed 2^63: the floats' sums are taken.
TEST_P(FloatCounts, SumsThatCouldWrap) {
  check({.sensors = 1, .bins = 2, .levels = 40}, std::vector<double>(50'000, 65535), false);
}

TEST_P(FloatCounts, WrongOutputsAreRefused) {
  const Config config{.sensors = 4, .bins = 4, .levels = 3, .type = SampleType::f64};
  const auto data = whole<double>(100, 4, 200);
  Result<double> small({.sensors = 3, .bins = 4, .levels = 3, .type = SampleType::f64});
  EXPECT_THROW(autocorrelate(config, view_of(data, 4), small.views(), GetParam().selection),
               core::Error);
  EXPECT_THROW(autocorrelate(config, view_of(data, 2), small.views(), GetParam().selection),
               core::Error);
}

INSTANTIATE_TEST_SUITE_P(Backends, FloatCounts, ::testing::ValuesIn(kBackends),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests
