// The GPU's sums equal the reference's to the bit, on every device that compiles: PoCL makes one of
// the CPU.
#include "tautline/stages/autocorrelate/gpu/layout.h"
#include "tests/stages/autocorrelate/closed_form.h"
#include "tests/stages/autocorrelate/gpu_fixture.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class Gpu : public OnGpu {};

TEST_P(Gpu, NamesItself) {
  const Config config{.sensors = 4, .bins = 4, .levels = 1};
  const std::string api = GetParam().substr(0, GetParam().find(':'));
  const std::string units = matrix() ? " mma" : " portable";
  const std::string name = autocorrelate::make_plan(config, device())->backend();
  EXPECT_TRUE(name.starts_with(api + units + " (")) << name;
  EXPECT_EQ(make_plan(config, device(), designs()[0], "by hand")->backend(),
            api + units + " (by hand)");
  EXPECT_EQ(make_plan(config, device(), kPortable)->backend(), api + " portable");
}

TEST_P(Gpu, EveryNumberOfSensors) {
  for (const std::size_t sensors : kTestSensors)
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      check({.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5},
            random_counts<std::uint8_t>(sensors > 100 ? 333 : 1111, sensors, 255));
}

TEST_P(Gpu, LengthsAroundEveryBoundary) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{.sensors = 3, .lag_scheme = scheme, .bins = 4, .levels = 5};
    for (std::size_t samples = 1; samples < 70; ++samples)
      check(config, random_counts<std::uint8_t>(samples, 3, 255));
    for (const std::size_t level : {7u, 8u, 9u, 10u, 11u})
      for (const int beside : {-1, 0, 1})
        check(config,
              random_counts<std::uint8_t>(static_cast<std::size_t>((1 << level) + beside), 3, 255));
  }
}

TEST_P(Gpu, BinsAndLevels) {
  for (const std::size_t bins : {1u, 2u, 3u, 8u, 9u, 16u, 17u, 24u, 25u, 26u, 32u, 33u, 34u, 70u}) {
    const auto data = random_counts<std::uint8_t>(1200, 5, 255);
    check({.sensors = 5, .bins = bins, .levels = 4}, data);
    if (bins % 2 == 0)
      check({.sensors = 5, .lag_scheme = LagScheme::standard, .bins = bins, .levels = 4}, data);
  }
}

// The paper's array: delayed windows from level 6 on do not start at block boundaries.
TEST_P(Gpu, TenGroupsOfThirtyTwo) {
  for (const std::size_t samples : {33'000u, 40'001u}) {
    check({.sensors = 2, .max_samples = 100'000}, random_counts<std::uint8_t>(samples, 2, 255));
    check({.sensors = 2, .max_samples = 100'000}, std::vector<std::uint8_t>(2 * samples, 255));
  }
}

TEST_P(Gpu, TenGroupsOfThirtyTwoAreTheClosedForm) {
  for (const std::size_t sensors : {31u, 33u, 1249u}) {
    const Config config{.sensors = sensors};
    const std::size_t samples = 16'999;
    const auto data = random_counts<std::uint8_t>(samples, sensors, 255);
    for (GpuTunables tunables : designs()) {
      tunables.chunk_samples = 8192;
      tunables.part_rows = 1024;
      expect_closed_form(config, run(*make_plan(config, device(), tunables), queue(), data), data,
                         config_text(config, samples));
    }
  }
}

TEST_P(Gpu, SixteenBits) {
  for (const double most : {300., 65535.})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      check({.sensors = 3, .lag_scheme = scheme, .bins = 6, .levels = 9, .type = SampleType::u16},
            random_counts<std::uint16_t>(2001, 3, most));
  check({.sensors = 33, .bins = 32, .levels = 5, .type = SampleType::u16},
        std::vector<std::uint16_t>(33 * 700, 65535));
}

TEST_P(Gpu, ThirtyTwoBits) {
  for (const double most : {7., 1e6})
    check({.sensors = 3, .bins = 6, .levels = 9, .type = SampleType::u32},
          random_counts<std::uint32_t>(2001, 3, most));
  check({.sensors = 2, .bins = 6, .levels = 1, .type = SampleType::u32},
        std::vector<std::uint32_t>{2147483651u, 2147483649u, 4294967u, 5});
}

TEST_P(Gpu, ManyLevels) {
  check({.sensors = 3, .bins = 2, .levels = 40}, random_counts<std::uint8_t>(5000, 3, 3));
  check({.sensors = 3,
         .lag_scheme = LagScheme::standard,
         .bins = 4,
         .levels = 30,
         .type = SampleType::u32},
        random_counts<std::uint32_t>(5000, 3, 3));
}

TEST_P(Gpu, Floats) {
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
    const Config config{
        .sensors = 3, .lag_scheme = scheme, .bins = 6, .levels = 5, .type = SampleType::f32};
    const auto data = random_counts<float>(2001, 3, 10);
    const auto got = run(*make_plan(config, device(), kPortable), queue(), data);
    const auto expected = run_on(kReference, config, data);
    expect_equal(config, got.sums, expected.sums, "sums", "floats");
    const double total = expected.totals[0];
    for (std::size_t i = 0; i < got.direct.size(); ++i) {
      EXPECT_NEAR(got.direct[i], expected.direct[i], kFloatMonitorTolerance * total);
      EXPECT_NEAR(got.delayed[i], expected.delayed[i], kFloatMonitorTolerance * total);
      EXPECT_NEAR(got.lead_in[i], expected.lead_in[i], kFloatMonitorTolerance * total * 1000);
    }
  }
}

TEST_P(Gpu, Coarsenings) {
  for (const Coarsening coarsening : {Coarsening::first, Coarsening::second})
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      for (const std::size_t bins : {6u, 32u})
        check({.sensors = 3,
               .lag_scheme = scheme,
               .bins = bins,
               .levels = 6,
               .coarsening = coarsening},
              random_counts<std::uint8_t>(2500, 3, 255));
}

TEST_P(Gpu, PairsOfSensors) {
  const std::size_t sensors = 21;
  std::vector<Pair> pairs;
  auto random = generator();
  for (int i = 0; i < 37; ++i)
    pairs.push_back({static_cast<std::uint32_t>(random() % sensors),
                     static_cast<std::uint32_t>(random() % sensors)});
  for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
    for (const auto& some : {pairs, std::vector<Pair>{{3, 20}}})
      check({.sensors = sensors, .lag_scheme = scheme, .bins = 6, .levels = 5, .pairs = some},
            random_counts<std::uint8_t>(999, sensors, 255));
  check({.sensors = sensors, .bins = 32, .levels = 5, .type = SampleType::u16, .pairs = pairs},
        random_counts<std::uint16_t>(999, sensors, 65535));
}

TEST_P(Gpu, MemoryIsAConstantPerSensor) {
  const auto bytes = [&](std::size_t sensors) {
    return make_plan({.sensors = sensors, .max_samples = 4096}, device(), kLong)
        ->bytes()
        .device_bytes;
  };
  const double each = static_cast<double>(bytes(20480) - bytes(10240)) / 10240;
  EXPECT_NEAR(static_cast<double>(bytes(40960) - bytes(20480)) / 20480, each, 1);
  EXPECT_LT(each, 48u * 1024);
}

TEST(GpuLayout, ChunksOfWideArraysFollowTheMemory) {
  constexpr std::size_t kGigabyte = 1'000'000'000;
  const auto chunk = [](std::size_t sensors, std::size_t memory_bytes, std::size_t samples = 65536,
                        GpuTunables tunables = {}) {
    const auto layout =
        gpu::make_layout({.sensors = sensors, .max_samples = samples}, tunables, memory_bytes);
    EXPECT_LT(layout.bytes, std::max(memory_bytes / 8, sensors * 400'000));
    return layout.chunk;
  };
  EXPECT_EQ(chunk(100'000, 0), 4096u);
  EXPECT_EQ(chunk(100'000, 24 * kGigabyte), 4096u);
  EXPECT_EQ(chunk(100'000, 80 * kGigabyte), 8192u);
  EXPECT_EQ(chunk(100'000, 141 * kGigabyte), 16384u);
  EXPECT_EQ(chunk(100'000, 141 * kGigabyte, 5000), 5000u);
  EXPECT_EQ(chunk(100'000, 141 * kGigabyte, 65536, {.chunk_samples = 1024}), 1024u);
  EXPECT_EQ(chunk(1024, 0), 65536u);
  EXPECT_EQ(chunk(1024, 141 * kGigabyte), 65536u);
}

TEST_P(Gpu, BadTunablesAreRefused) {
  for (const GpuTunables& bad : {GpuTunables{.lags = 0}, GpuTunables{.lags = 33},
                                 GpuTunables{.threads = 48}, GpuTunables{.part_rows = 1},
                                 GpuTunables{.chunk_samples = 1}, GpuTunables{.pending_rows = 0}})
    EXPECT_THROW(make_plan({.sensors = 4}, device(), bad), core::Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests
