// Sums of integers equal the int64 reference to the bit: every width, method, instruction set.
#include <cstdlib>

#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

void compare(const Config& config, std::size_t times, const Feed& feed, const Tunables& tunables) {
  auto random = tests::generator();
  const auto spectra = make_spectra(config, times, random);
  const Series expected = run("reference", config, spectra, times);
  for (const std::string& device : host_devices()) {
    const Series got = run(device, config, spectra, times, feed, tunables);
    ASSERT_EQ(got.times, expected.times);
    EXPECT_EQ(got.integers, expected.integers)
        << device << ", " << config.frequencies_mhz.size() << " channels, " << config.bits
        << " bits, " << to_string(config.method) << ", " << times << " times";
  }
}

TEST(Exact, EveryWidthOfChannelsAndSamplesInBothOrders) {
  for (const std::size_t channels : {1u, 2u, 3u, 32u, 336u, 1024u})
    for (const int bits : {1, 2, 4, 8, 16})
      for (const bool rising : {false, true}) {
        // Each method in each order; all of them with TAUTLINE_FULL.
        for (const Method method : {Method::exact, Method::shared, Method::automatic}) {
          const std::size_t turn = channels + static_cast<std::size_t>(bits) + (rising ? 1 : 0);
          if (std::getenv("TAUTLINE_FULL") == nullptr &&
              turn % 3 == static_cast<std::size_t>(method) % 3)
            continue;
          Config config = small_config(channels, bits, channels > 100 ? 5 : 17, rising);
          config.method = method;
          compare(config, 150, {}, {});
        }
      }
}

TEST(Exact, AwkwardLengthsAndSplits) {
  const bool small = std::getenv("TAUTLINE_SMALL") != nullptr;
  Config config = small_config(33, 8, 40);
  config.beams = 2;
  const std::vector<Feed> feeds{
      {}, {{1}}, {{7, 1, 63, 64, 65}}, {{100, 3}, true}, {{40}, false, true}};
  for (const Method method : {Method::exact, Method::shared}) {
    config.method = method;
    const std::size_t overlap = make_plan(config, device::open({}))->max_delay();
    for (const std::size_t times :
         {overlap, overlap + 1, overlap + 2, overlap + 64, overlap + 511, overlap + 513})
      for (const Feed& feed : feeds) {
        // 617 calls of one sample each are slow under sanitizers, and 168 do the same.
        if (small && feed.pieces == std::vector<std::size_t>{1} && times > overlap + 64) continue;
        compare(config, times, feed, {});
      }
  }
}

TEST(Exact, EveryLevelOfSharingAndEverySizeOfTile) {
  Config config = small_config(77, 8, 50);
  config.method = Method::shared;
  for (const std::size_t levels : {1u, 2u, 3u, 4u, 5u, 6u, 7u})
    for (const std::size_t block : {1u, 7u, 64u})
      compare(config, 1300, {{900}},
              {.time_tile = 512 * (1 + levels % 2),
               .block_trials = block,
               .levels = levels,
               .scratch_bytes = levels < 4 ? 4096u : 65536u});
}

TEST(Exact, FullScaleSamplesOverflowNoPartialSum) {
  for (const int bits : {8, 16})
    for (const Method method : {Method::exact, Method::shared})
      for (const std::size_t channels : {256u, 257u, 258u, 515u, 900u}) {
        Config config = small_config(channels, bits, 3);
        config.method = method;
        const std::size_t times = 80;
        const std::vector<std::byte> spectra(times * channels * static_cast<std::size_t>(bits) / 8,
                                             std::byte{0xff});
        const auto full = static_cast<std::int32_t>(channels) * ((1 << bits) - 1);
        for (const std::string& device : host_devices()) {
          const Series series = run(device, config, spectra, times);
          ASSERT_FALSE(series.integers.empty());
          for (const std::int32_t sum : series.integers) ASSERT_EQ(sum, full) << device;
        }
      }
}

// 16-bit sums of 15 channels, carries of 3,855 (65,535 x 256 / 4,352): then trials are written more
// than once.
TEST(Exact, CarriesOverflowNothing) {
  constexpr std::uint16_t kMost = 4352;
  const std::size_t times = 40;
  auto random = tests::generator();
  for (const std::size_t channels : {3840u, 3855u, 3856u, 3871u, 4000u}) {
    Config config = small_config(channels, 16, 3);
    config.max_value = kMost;
    std::vector<std::uint16_t> values(times * channels);
    std::vector<std::byte> spectra(2 * values.size());
    for (const bool full : {true, false}) {
      for (auto& value : values)
        value = full ? kMost : static_cast<std::uint16_t>(random() % (kMost + 1));
      std::memcpy(spectra.data(), values.data(), spectra.size());
      const Series expected = run("reference", config, spectra, times);
      ASSERT_FALSE(expected.integers.empty());
      for (const Method method : {Method::exact, Method::shared}) {
        config.method = method;
        for (const std::string& device : host_devices())
          EXPECT_EQ(run(device, config, spectra, times).integers, expected.integers)
              << device << ", " << channels << " channels";
      }
    }
  }
}

TEST(Exact, TrialsWrittenPastTheCaches) {
  const Tunables streamed{.streamed_bytes = 0};
  for (const std::size_t channels : {7u, 300u})
    for (const Method method : {Method::exact, Method::shared}) {
      Config config = small_config(channels, 8, 11);
      config.method = method;
      config.signed_samples = channels == 7;
      const std::size_t overlap = make_plan(config, device::open({}))->max_delay();
      for (const std::size_t more : {1u, 2u, 15u, 16u, 17u, 512u, 1100u, 1555u})
        compare(config, overlap + more, {}, streamed);
      compare(config, overlap + 700, {{1, 30, 513}}, streamed);
    }
  Config config = small_config(40, 32, 9);
  const std::size_t times = make_plan(config, device::open({}))->max_delay() + 777;
  auto random = tests::generator();
  const auto spectra = make_spectra(config, times, random);
  for (const std::string& device : host_devices()) {
    const Series cached = run(device, config, spectra, times);
    ASSERT_FALSE(cached.floats.empty());
    EXPECT_EQ(run(device, config, spectra, times, {}, streamed).floats, cached.floats) << device;
  }
}

TEST(Exact, SignedSamplesZeroLevelsAndSmallLargestValues) {
  for (const int bits : {8, 16}) {
    Config config = small_config(60, bits, 9);
    config.signed_samples = true;
    compare(config, 300, {{77}}, {});
    config.signed_samples = false;
    config.zero_level = 100;
    compare(config, 300, {}, {});
  }
  // 16-bit elements that hold 9 bits are summed in 16-bit sums.
  Config config = small_config(300, 16, 9);
  config.max_value = 511;
  const std::size_t times = 200;
  auto random = tests::generator();
  std::vector<std::byte> spectra(times * 300 * 2);
  for (std::size_t k = 0; k < times * 300; ++k) {
    const auto value = static_cast<std::uint16_t>(random() % 512);
    std::memcpy(spectra.data() + 2 * k, &value, 2);
  }
  const Series expected = run("reference", config, spectra, times);
  for (const Method method : {Method::exact, Method::shared}) {
    config.method = method;
    for (const std::string& device : host_devices())
      EXPECT_EQ(run(device, config, spectra, times).integers, expected.integers) << device;
  }
}

TEST(Exact, DownsamplingWithAnySplit) {
  for (const std::size_t n : {2u, 3u, 5u, 64u, 100u})
    for (const int bits : {1, 8, 16}) {
      if (bits == 16 && n > 1) continue;
      Config config = small_config(20, bits, 12);
      config.downsample = n;
      config.sample_time_s = 1e-3 / static_cast<double>(n);
      compare(config, 137 * n + n / 2, {{1000, 1, 129}}, {});
      compare(config, 137 * n + n / 2, {{333}, true, true}, {});
    }
}

TEST(Exact, IgnoredChannelsAddNothing) {
  Config config = small_config(40, 8, 12);
  config.ignored_channels = {0, 7, 8, 9, 39};
  for (const Method method : {Method::exact, Method::shared}) {
    config.method = method;
    compare(config, 400, {{123}}, {});
  }
  auto random = tests::generator();
  auto spectra = make_spectra(config, 400, random);
  const Series before = run("auto", config, spectra, 400);
  for (std::size_t t = 0; t < 400; ++t)
    for (const std::size_t c : config.ignored_channels) spectra[t * 40 + c] = std::byte{255};
  EXPECT_EQ(run("auto", config, spectra, 400).integers, before.integers);
  // Trials are as long as with every channel.
  Config all = config;
  all.ignored_channels.clear();
  EXPECT_EQ(run("auto", all, spectra, 400).times, before.times);
}

TEST(Exact, UnsortedAndEqualTrialsAndEqualFrequencies) {
  Config config = small_config(24, 8, 0);
  config.dms = {30, 0, 12.5, 12.5, 100, 3, 0};
  config.frequencies_mhz[5] = config.frequencies_mhz[6];
  for (const Method method : {Method::exact, Method::shared}) {
    config.method = method;
    compare(config, 500, {{200}}, {});
  }
}

}  // namespace
}  // namespace tautline::stages::dedisperse
