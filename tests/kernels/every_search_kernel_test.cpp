// Every GPU kernel of the search for pulses, on problems small enough for compute-sanitizer.
#include <gtest/gtest.h>

#include "tautline/stages/detect/implementation.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/stages/detect/support.h"
#include "tests/support/gpus.h"

namespace tautline::tests {
namespace {

class EverySearchKernel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }
};

// dedisperse/: clean.kernel (zero-DM, sums in time), take.kernel of spectra and of rows,
// tile.kernel with and without shared sums and local memory, bands.kernel, sum.kernel; history from
// call to call.
TEST_P(EverySearchKernel, Dedisperse) {
  namespace dedisperse = stages::dedisperse;
  using dedisperse::Method;
  auto random = generator();
  const dedisperse::Tunables quick{.gpu = {16, 2, 1, 2, 32}};
  struct Shape {
    std::size_t channels;
    int bits;
    Method method;
    bool rows;
    std::size_t levels, furthest_trial_steps;
    bool cleaned = false;
    std::size_t makers = 0;
  };
  for (const Shape& shape : std::vector<Shape>{{33, 1, Method::exact, false, 2, 1},
                                               {33, 2, Method::exact, true, 2, 1},
                                               {64, 4, Method::shared, false, 2, 1},
                                               {61, 8, Method::exact, false, 2, 1},
                                               {61, 8, Method::shared, true, 3, 1},
                                               {40, 16, Method::shared, false, 2, 1},
                                               {40, 32, Method::exact, false, 2, 1},
                                               {40, 32, Method::shared, false, 2, 1},
                                               {3, 8, Method::exact, false, 2, 24000},
                                               {61, 8, Method::exact, false, 2, 1, true},
                                               {33, 4, Method::exact, true, 2, 1, true},
                                               {61, 8, Method::shared, false, 2, 1, false, 2},
                                               {61, 8, Method::shared, false, 2, 1, false, 4}}) {
    dedisperse::Config config = dedisperse::small_config(shape.channels, shape.bits, 21);
    config.dms = dedisperse::even_dms(2.5 * static_cast<double>(shape.furthest_trial_steps),
                                      shape.furthest_trial_steps > 1 ? 3 : 21);
    config.method = shape.method;
    config.ignored_channels = {1};
    config.zero_dm = shape.cleaned;
    config.downsample = shape.cleaned ? 2 : 1;
    dedisperse::Tunables tunables = quick;
    tunables.gpu.levels = shape.levels;
    tunables.gpu.local_kib = 24;
    tunables.gpu.makers = shape.makers;
    if (shape.makers > 0) tunables.gpu.elements_time = 2;
    if (shape.makers == 4) {  // with teams that only fetch, on compute capability 9.0
      tunables.gpu.items_time = 64;
      tunables.gpu.local_kib = 200;
    }
    const auto cpu = device::open({});
    const std::size_t delay = config.downsample * dedisperse::make_plan(config, cpu)->max_delay(),
                      times = delay + 210;
    const auto spectra = dedisperse::make_spectra(config, times, random);
    const dedisperse::Series expected = dedisperse::run("cpu", config, spectra, times);
    const dedisperse::Series got = dedisperse::run(GetParam(), config, spectra, times,
                                                   {{delay + 77, 90}, shape.rows}, tunables);
    SCOPED_TRACE(std::to_string(shape.channels) + " channels, " + std::to_string(shape.bits) +
                 " bits");
    EXPECT_FALSE(expected.integers.empty() && expected.floats.empty());
    EXPECT_EQ(got.integers, expected.integers);
    ASSERT_EQ(got.floats.size(), expected.floats.size());
    for (std::size_t k = 0; k < got.floats.size(); ++k)
      ASSERT_NEAR(
          got.floats[k], expected.floats[k],
          2 * dedisperse::Case::kFloatTolerance * static_cast<double>(shape.channels) *
              (shape.bits == 32 ? 1 : (1 << shape.bits) * static_cast<int>(config.downsample)));
  }
}

// detect/: baseline, noise, segments, units and boxcars; both types, both estimates of the noise.
TEST_P(EverySearchKernel, Detect) {
  namespace detect = stages::detect;
  auto random = generator();
  for (const detect::Noise noise : {detect::Noise::trial, detect::Noise::width}) {
    detect::Config config;
    config.sample_time_s = 1e-3;
    config.max_width_s = 0.02;
    config.threshold = 4.5;
    config.noise = noise;
    const auto check = [&](const auto& rows) {
      const detect::Found expected = detect::run("cpu", config, rows, rows[0].size(), random);
      EXPECT_FALSE(expected.pulses.empty());
      detect::expect_same(expected, detect::run(GetParam(), config, rows, 9000, random),
                          GetParam());
    };
    check(detect::noise_rows<std::int32_t>(2, 18000, 30, 3, random));
    check(detect::noise_rows<float>(2, 18000, 0.2, 3, random));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EverySearchKernel, ::testing::ValuesIn(gpu_names()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tautline::tests
