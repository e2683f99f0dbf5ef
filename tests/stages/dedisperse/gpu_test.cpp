// The GPU's sums equal the reference's, on every device that compiles: PoCL makes one of the CPU.
#include <cstdlib>
#include <iterator>
#include <tuple>
#include <utility>

#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/gpu/dispatch.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::dedisperse {
namespace {

// Little to unroll: PoCL takes seconds to compile the default.
const Tunables kQuick{.gpu = {16, 2, 1, 2, 32}};

class Gpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }

  void compare(const Config& config, std::size_t times, const Feed& feed = {},
               const Tunables& tunables = kQuick) {
    auto random = tests::generator();
    const auto spectra = make_spectra(config, times, random);
    const Series expected = run("reference", config, spectra, times);
    const Series got = run(GetParam(), config, spectra, times, feed, tunables);
    const std::string where = std::to_string(config.frequencies_mhz.size()) + " channels, " +
                              std::to_string(config.bits) + " bits";
    EXPECT_EQ(got.integers, expected.integers) << where;
    ASSERT_EQ(got.floats.size(), expected.floats.size());
    for (std::size_t k = 0; k < got.floats.size(); ++k)
      ASSERT_NEAR(got.floats[k], expected.floats[k],
                  Case::kFloatTolerance * static_cast<double>(config.frequencies_mhz.size()) *
                      (config.bits == 32 ? 1 : (1 << config.bits) - 1))
          << where;
  }
};

TEST_P(Gpu, NamesItself) {
  const auto plan =
      make_plan(small_config(8, 8, 3), device::open(device::parse_selection(GetParam())), kQuick);
  EXPECT_EQ(plan->backend(), GetParam().substr(0, GetParam().find(':')));
}

// The plain sums, forced, in both orders of channels; lengths and pieces that are no multiple of
// anything. Trials are as far apart as they are in the rest of the tests.
TEST_P(Gpu, ExactOfEveryWidthInBothOrders) {
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  for (const std::size_t channels : {1u, 2u, 3u, 32u, 336u, 1024u})
    for (const int bits : {1, 2, 4, 8, 16, 32}) {
      std::size_t turn = channels + static_cast<std::size_t>(bits);
      for (const bool rising : {false, true}) {
        Config config = small_config(channels, bits, channels > 100 ? 5 : 37, rising);
        config.method = Method::exact;
        const std::size_t delay = DelayPlan(config).max_delay();
        const std::pair<std::size_t, Feed> feeds[] = {
            {delay + 1, {}},
            {delay + 7, {{delay, 1, 2}}},
            {delay + 83, {{61, 1, 13}}},
            {delay + 64, {{delay + 33}, true}},
            {delay + 129, {{77}, false, true}},
        };
        for (std::size_t f = 0; f < std::size(feeds); ++f)
          if (full || f == turn % std::size(feeds))
            compare(config, feeds[f].first, feeds[f].second);
        ++turn;
      }
    }
}

TEST_P(Gpu, AutomaticOfEveryWidth) {
  for (const std::size_t channels : {2u, 32u, 336u})
    for (const int bits : {1, 8, 32})
      compare(small_config(channels, bits, channels > 100 ? 5 : 37, bits == 8), 170);
}

TEST_P(Gpu, AwkwardSplitsBeamsAndSavedStates) {
  for (const int bits : {4, 8, 16}) {
    Config config = small_config(33, bits, 40);
    config.beams = 2;
    config.ignored_channels = {4, 32};
    for (const Feed& feed :
         std::vector<Feed>{{{1000}}, {{61, 1, 130}}, {{90}, true}, {{70}, false, true}})
      compare(config, 700, feed);
    config.downsample = 3;
    if (bits < 16) compare(config, 900, {{100, 7}, false, true});
  }
}

TEST_P(Gpu, CleaningAndZeroLevels) {
  Config config = small_config(40, 8, 12);
  config.zero_dm = true;
  compare(config, 300, {{111}});
  config.zero_dm = false;
  config.signed_samples = true;
  compare(config, 300, {{111}});
  config.signed_samples = false;
  config.zero_level = 77;
  compare(config, 300);
}

TEST_P(Gpu, EveryTunable) {
  Config config = small_config(50, 8, 45);
  const std::vector<std::pair<int, GpuTunables>> some{
      {8, {64, 4, 2, 2, 32}},  {8, {16, 1, 1, 1, 0}},      {8, {32, 2, 8, 2, 64}},
      {16, {128, 8, 2, 2, 8}}, {32, {256, 1, 1, 1, 0, 2}}, {8, {64, 16, 1, 1, 16}}};
  bool exact = true;
  for (const auto& [bits, gpu] : some) {
    config.bits = bits;
    config.method = exact ? Method::exact : Method::automatic;
    exact = !exact;
    compare(config, 1200, {{800}}, {.gpu = gpu});
  }
}

// Rows of which a bundle has few are staged by several warps each.
TEST_P(Gpu, LongRowsAreStagedByManyThreads) {
  const auto device = device::open(device::parse_selection(GetParam()));
  for (const int bits : {8, 32}) {
    Config config = small_config(13, bits, 21);
    config.method = Method::exact;
    const GpuTunables shape{32, 4, 1, 2, 2};
    const GpuWorkList list = choose_sum_kernel(DelayPlan(config), *device, shape);
    ASSERT_EQ(list.file, "tile.kernel");
    EXPECT_GT(list.constants.at("ROW_THREADS"), 32u);
    compare(config, 400, {{150, 1, 77}}, {.gpu = shape});
  }
}

// Shared sums of every number of levels, over groups and bundles that are not whole.
TEST_P(Gpu, SharedSumsOfEveryLevelAreExact) {
  const bool full = std::getenv("TAUTLINE_FULL") != nullptr;
  for (const std::size_t channels : {1u, 2u, 3u, 5u, 32u, 61u, 300u})
    for (const std::size_t levels : {2u, 3u, 4u, 5u, 6u})
      for (const int bits : {8, 16, 32}) {
        // A program takes PoCL a second to compile.
        if (!full && (levels > (bits == 8 ? 4 : 2) || (bits != 8 && channels != 61))) continue;
        Config config = small_config(channels, bits, 21, channels == 5);
        config.method = Method::shared;
        Tunables tunables = kQuick;
        tunables.gpu.levels = levels;
        tunables.gpu.local_kib = channels > 100 ? 64 : 24;
        compare(config, 330, {{150, 1, 77}}, tunables);
      }
}

TEST_P(Gpu, LevelsAreUsed) {
  const auto device = device::open(device::parse_selection(GetParam()));
  Config config = small_config(64, 8, 45);
  config.method = Method::shared;
  Tunables tunables = kQuick;
  for (const std::size_t levels : {2u, 3u, 4u}) {
    tunables.gpu.levels = levels;
    const auto plan = make_plan(config, device, tunables);
    EXPECT_EQ(plan->choice().method, Method::shared);
    const std::string groups = "groups of " + std::to_string(1 << levels);
    EXPECT_NE(plan->choice().text.find(groups), std::string::npos) << plan->choice().text;
  }
  config.method = Method::exact;
  EXPECT_EQ(make_plan(config, device, kQuick)->choice().text.find("groups of"), std::string::npos);
}

// A cost that makes plans take channel blocks wherever they can.
GpuCost for_channel_blocks() {
  GpuCost cost = kH200Cost;
  cost.staged_row = 1e9;
  cost.adds_per_cycle = 1e-9;
  return cost;
}

// Channel blocks, whose sums some warps make and others add, are shared sums all the same.
TEST_P(Gpu, SumsOfChannelBlocksAreExact) {
  const auto device = device::open(device::parse_selection(GetParam()));
  if (device->api() != device::Api::cuda || device->properties().compute_capability != 90)
    GTEST_SKIP() << "channel blocks are for CUDA on compute capability 9.0";
  for (const std::size_t channels : {1u, 2u, 3u, 16u, 61u, 336u, 1024u})
    for (const int bits : {1, 2, 4, 8})
      for (const bool full : {false, true}) {
        Config config = small_config(channels, bits, 37, bits == 2);
        // Delays within a channel block differ by at most 15 samples.
        config.dms = even_dms(channels > 100 ? 0.25 : channels > 16 ? 2.5 : 0.5, 37);
        config.method = Method::shared;
        const std::size_t times = DelayPlan(config).max_delay() + 1250;
        const Feed feed{{150, 1, 477}, false, bits == 8};
        const auto plan =
            make_gpu_plan(std::make_shared<const DelayPlan>(fitted(config, times, feed)), device,
                          {}, for_channel_blocks());
        EXPECT_NE(plan->choice().text.find("channel blocks of"), std::string::npos)
            << plan->choice().text;
        auto random = tests::generator();
        auto spectra = make_spectra(config, times, random);
        if (full) std::fill(spectra.begin(), spectra.end(), std::byte{0xff});
        EXPECT_TRUE(run(*plan, *device->make_queue(), spectra, times, feed).integers ==
                    run("cpu", config, spectra, times).integers)
            << channels << " channels, " << bits << " bits, full scale " << full;
      }
}

// The same delays as on the CPU, so the same sums.
TEST_P(Gpu, SubbandsAreThoseOfTheCpu) {
  Config config;
  config.frequencies_mhz = falling_band(1500, 300.0 / 256, 256);
  config.sample_time_s = 128e-6;
  config.dms = even_dms(1, 100);
  config.pulse_width_s = 2e-3;
  config.subband_loss = 0.03;
  config.method = Method::subband;
  const std::size_t times = 6000;
  auto random = tests::generator();
  const auto spectra = make_spectra(config, times, random);
  const Tunables tunables{.gpu = {16, 4, 2, 2, 64, 1, 3}};
  const Feed feed{{2500}};
  const auto device = device::open(device::parse_selection(GetParam()));
  const auto plan = make_plan(fitted(config, times, feed), device, tunables);
  ASSERT_EQ(plan->choice().method, Method::subband);
  EXPECT_LE(plan->choice().loss, 0.03);
  EXPECT_NE(plan->choice().text.find("groups of 8"), std::string::npos) << plan->choice().text;
  const Series expected = run("cpu", config, spectra, times, feed);
  const Series got = run(GetParam(), config, spectra, times, feed, tunables);
  EXPECT_EQ(got.integers, expected.integers);
  config.method = Method::exact;
  EXPECT_NE(run("cpu", config, spectra, times).integers, expected.integers);
}

// Trials whose delays lie far apart: rows are read from global memory.
TEST_P(Gpu, DelaysTooFarApartForLocalMemory) {
  for (const Method method : {Method::exact, Method::shared, Method::automatic}) {
    Config config = small_config(3, 8, 5);
    config.dms = even_dms(60000, 5);
    config.method = method;
    const auto device = device::open(device::parse_selection(GetParam()));
    const auto plan = make_plan(config, device, kQuick);
    EXPECT_EQ(plan->choice().method, Method::exact);
    EXPECT_EQ(plan->choice().text, "exact, 1.000 of the plain adds, rows read from global memory");
    compare(config, plan->max_delay() + 200, {{5000}});
  }
}

// Few trials whose rows are longer than what is added of them: also where there is room for one.
TEST_P(Gpu, RowsAreStagedWhereThatPays) {
  const auto device = device::open(device::parse_selection(GetParam()));
  const std::size_t local = device->properties().local_bytes;
  if (local < std::size_t{227} << 10)
    GTEST_SKIP() << local << " bytes of shared memory, 227 KiB wanted";
  const auto kernel_for = [&](const Config& config, const GpuTunables& tunables) {
    return choose_sum_kernel(DelayPlan(config), *device, tunables).file;
  };
  for (const std::size_t trials : {1u, 2u, 32u, 200u})
    EXPECT_NE(kernel_for(dedisperse::apertif(trials).config, {}), "sum.kernel");
  EXPECT_EQ(kernel_for(lofar(4).config, {}), "tile.kernel");
  EXPECT_NE(kernel_for(lofar(32).config, {}), "tile.kernel");
  EXPECT_EQ(kernel_for(lofar(32).config, {.local_kib = 255}), "tile.kernel");
}

// What a GPU of NVIDIA's takes when nothing is told. PoCL takes seconds to compile its defaults,
// whose shapes the tests above have made smaller.
TEST_P(Gpu, DefaultsOfTheDevice) {
  const auto device = device::open(device::parse_selection(GetParam()));
  if (device->properties().compute_capability == 0)
    GTEST_SKIP() << "no compute capability to choose defaults by";
  auto random = tests::generator();
  for (const auto& [method, bits, width_s] : {std::tuple(Method::exact, 8, 0.),
                                              {Method::shared, 8, 0.},
                                              {Method::shared, 4, 0.},
                                              {Method::subband, 8, 0.},
                                              {Method::subband, 8, 5e-3},
                                              {Method::shared, 32, 0.}}) {
    Config config = apertif(150).config;
    config.bits = bits;
    config.method = method;
    if (width_s > 0) config.pulse_width_s = width_s;
    const std::size_t times = make_plan(config, device, Tunables{})->max_delay() + 5000;
    const auto spectra = make_spectra(config, times, random);
    const Series expected = run("cpu", config, spectra, times, {{2600, 1033}});
    const Series got = run(GetParam(), config, spectra, times, {{2600, 1033}}, Tunables{});
    const std::string text = make_plan(config, device, Tunables{})->choice().text;
    EXPECT_EQ(got.integers, expected.integers) << text;
    EXPECT_FALSE(got.integers.empty() && got.floats.empty());
    ASSERT_EQ(got.floats.size(), expected.floats.size());
    for (std::size_t k = 0; k < got.floats.size(); ++k)
      ASSERT_NEAR(got.floats[k], expected.floats[k], 2 * Case::kFloatTolerance * 1024) << text;
  }
}

TEST_P(Gpu, FullScaleBytesOverflowNothing) {
  Config config = small_config(600, 8, 3);
  const std::size_t times = 90;
  const std::vector<std::byte> spectra(times * 600, std::byte{0xff});
  const Series series = run(GetParam(), config, spectra, times, {}, kQuick);
  ASSERT_FALSE(series.integers.empty());
  for (const std::int32_t sum : series.integers) ASSERT_EQ(sum, 600 * 255);
}

// Input and output in the device's memory.
TEST_P(Gpu, DeviceMemoryGivesTheSameSums) {
  for (const int bits : {1, 2, 4, 8, 16})
    for (const bool rows : {false, true}) {
      Config config = small_config(45, bits, 20);
      config.ignored_channels = {7};
      const std::size_t times = 400;
      auto random = tests::generator();
      const auto spectra = make_spectra(config, times, random);
      const Series expected = run("reference", config, spectra, times);
      const auto device = device::open(device::parse_selection(GetParam()));
      config.max_samples = times;
      const auto plan = make_plan(config, device, kQuick);
      const auto queue = device->make_queue();
      const auto state = plan->make_state(*queue);
      const auto bytes = rows ? to_rows(config, spectra, times) : spectra;
      const device::Buffer in = device->allocate(bytes.size());
      const device::Buffer out = device->allocate(4 * 20 * times);
      queue->copy(in.data(), bytes.data(), bytes.size());
      Input input;
      input.layout = rows ? Input::Layout::rows : Input::Layout::spectra;
      input.data = in.data();
      input.count = times;
      const auto result =
          plan->execute(*queue, *state, input, {out.data(), plan->output_type(), {1, 20, times}});
      ASSERT_EQ(result.samples, expected.times);
      std::vector<std::int32_t> got(20 * times);
      queue->copy(got.data(), out.data(), 4 * got.size());
      queue->synchronise();
      for (std::size_t i = 0; i < 20; ++i)
        for (std::size_t t = 0; t < expected.times; ++t)
          ASSERT_EQ(got[i * times + t], expected.integers[i * expected.times + t]) << bits;
    }
}

// Bytes are transposed a word at a time: whatever the time in a word at which a block begins.
TEST_P(Gpu, BlocksInDeviceMemoryBeginAnywhere) {
  Config config = small_config(200, 8, 20);
  config.beams = 2;
  config.ignored_channels = {7, 130, 199};
  const std::size_t times = 900;
  auto random = tests::generator();
  const auto spectra = make_spectra(config, times, random);
  const Series expected = run("reference", config, spectra, times);
  ASSERT_FALSE(expected.integers.empty());
  const Feed feed{{1 + random() % 300, 1 + random() % 300, 1 + random() % 300}, false, false, true};
  EXPECT_EQ(run(GetParam(), config, spectra, times, feed, kQuick).integers, expected.integers);
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::dedisperse
