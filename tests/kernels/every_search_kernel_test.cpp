// Every GPU kernel of the search for pulses, on problems small enough for compute-sanitizer.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/detect/backends.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/stages/detect/support.h"
#include "tests/support/gpus.h"
#include "tests/support/rewriting_device.h"

namespace tautline::tests {
namespace {

class EverySearchKernel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }
};

// dedisperse/gpu/clean.kernel (spectra, rows, sums in time), dedisperse/gpu/zero_dm.kernel,
// dedisperse/gpu/corner_turn.kernel, dedisperse/gpu/tile.kernel with and without shared sums and local memory,
// dedisperse/gpu/sum.kernel; history from call to call.
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
  };
  for (const Shape& shape : std::vector<Shape>{{33, 1, Method::exact, false, 2, 1},
                                               {33, 2, Method::exact, true, 2, 1},
                                               {64, 4, Method::shared, false, 2, 1},
                                               {61, 8, Method::exact, false, 2, 1},
                                               {61, 8, Method::shared, true, 3, 1},
                                               {132, 8, Method::exact, false, 2, 1},
                                               {40, 16, Method::shared, false, 2, 1},
                                               {40, 32, Method::exact, false, 2, 1},
                                               {40, 32, Method::shared, false, 2, 1},
                                               {3, 8, Method::exact, false, 2, 24000},
                                               {61, 8, Method::exact, false, 2, 1, true},
                                               {33, 4, Method::exact, true, 2, 1, true}}) {
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
    const auto cpu = device::open({});
    const std::size_t delay = config.downsample * dedisperse::make_plan(config, cpu)->max_delay(),
                      times = delay + 210;
    const auto spectra = dedisperse::make_spectra(config, times, random);
    const dedisperse::Series expected = dedisperse::run("cpu", config, spectra, times);
    for (const bool there : {false, true}) {
      const dedisperse::Series got =
          dedisperse::run(GetParam(), config, spectra, times,
                          {{delay + 77, 90}, shape.rows, false, there}, tunables);
      SCOPED_TRACE(std::to_string(shape.channels) + " channels, " + std::to_string(shape.bits) +
                   " bits" + (there ? ", in the device's memory" : ""));
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
}

bool runs_channel_blocks(const device::Device& device) {
  return device.api() == device::Api::cuda && device.properties().compute_capability == 90;
}

// dedisperse/gpu/hopper/channel_blocks.cuda.kernel, by a cost that makes plans take it wherever they can.
void check_channel_blocks(const std::shared_ptr<const device::Device>& device) {
  namespace dedisperse = stages::dedisperse;
  auto random = generator();
  dedisperse::GpuCost cost = dedisperse::kH200Cost;
  cost.staged_row = 1e9;
  cost.adds_per_cycle = 1e-9;
  dedisperse::Config config = dedisperse::small_config(200, 8, 21);
  config.dms = dedisperse::even_dms(2.5, 21);
  config.method = dedisperse::Method::shared;
  const std::size_t times = dedisperse::make_plan(config, device::open({}))->max_delay() + 210;
  const auto spectra = dedisperse::make_spectra(config, times, random);
  const dedisperse::Series expected = dedisperse::run("cpu", config, spectra, times);
  const dedisperse::Feed feed{{times - 133, 90}};
  const auto plan = dedisperse::make_gpu_plan(
      std::make_shared<const dedisperse::DelayPlan>(dedisperse::fitted(config, times, feed)),
      device, {}, cost);
  EXPECT_NE(plan->choice().text.find("channel blocks"), std::string::npos) << plan->choice().text;
  const dedisperse::Series got =
      dedisperse::run(*plan, *device->make_queue(), spectra, times, feed);
  ASSERT_FALSE(expected.integers.empty());
  EXPECT_EQ(got.integers, expected.integers);
}

TEST_P(EverySearchKernel, RolesThatRunAhead) {
  const auto device = device::open(device::parse_selection(GetParam()));
  if (!runs_channel_blocks(*device))
    GTEST_SKIP() << "only CUDA on compute capability 9.0 lets roles run ahead";
  check_channel_blocks(device);
}

// As in every_kernel_test.cpp: racecheck takes each lane for itself, so here each of them arrives.
void let_every_producer_lane_arrive(device::ProgramSource& source) {
  if (source.text.find("mbarrier.init") == std::string::npos) return;
  const std::pair<std::string, std::string> changes[] = {
      {"if (producer % WARP == 0) {", "{"},
      {"if (THREAD_X % WARP == 0) arrive(", "arrive("},
      {"begin_count(memory, ROWS_FREE + n, PRODUCER_WARPS)",
       "begin_count(memory, ROWS_FREE + n, PRODUCER_WARPS * WARP)"},
      {"begin_count(memory, MADE + n, PRODUCER_WARPS)",
       "begin_count(memory, MADE + n, PRODUCER_WARPS * WARP)"},
      {"begin_count(memory, ADDED + n, CONSUMERS / WARP)",
       "begin_count(memory, ADDED + n, CONSUMERS)"}};
  for (const auto& [what, with] : changes) {
    const std::size_t at = source.text.find(what);
    ASSERT_NE(at, std::string::npos) << source.name << " no longer has: " << what;
    source.text.replace(at, what.size(), with);
  }
}

TEST_P(EverySearchKernel, RolesThatRunAheadWithEveryLaneArriving) {
  auto device = device::open(device::parse_selection(GetParam()));
  if (!runs_channel_blocks(*device))
    GTEST_SKIP() << "only CUDA on compute capability 9.0 lets roles run ahead";
  check_channel_blocks(
      std::make_shared<RewritingDevice>(std::move(device), let_every_producer_lane_arrive));
}

// detect/gpu/segments.kernel, detect/gpu/baseline.kernel, detect/gpu/noise.kernel, detect/gpu/units.kernel,
// detect/gpu/boxcars.kernel, detect/gpu/peaks.kernel and detect/gpu/refine.kernel; both types, both estimates of the
// noise.
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
