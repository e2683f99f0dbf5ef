// Zero-DM of bytes on every device: to the bit what whole numbers give, on GPUs with sums over
// delays and with transforms of every size, in any split.
#include "tautline/stages/dedisperse/gpu/zero_dm_plan.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tests/stages/dedisperse/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::dedisperse {
namespace {

// [beam][time][channel], unsigned or not.
std::int64_t sample_of(const Config& config, const std::vector<std::byte>& spectra,
                       std::size_t times, std::size_t beam, std::size_t t, std::size_t c) {
  const auto bits = static_cast<std::size_t>(config.bits);
  const std::size_t line = (config.frequencies_mhz.size() * bits + 7) / 8;
  const auto byte = static_cast<unsigned>(spectra[(beam * times + t) * line + c * bits / 8]);
  const auto code = static_cast<int>(byte >> (c * bits % 8) & ((1u << bits) - 1));
  return config.signed_samples ? static_cast<std::int8_t>(code) : code;
}

// (K S - M) times 1 / K, S and M as whole numbers.
std::vector<float> definition(const Plan& plan, const std::vector<std::byte>& spectra,
                              std::size_t times) {
  const Config& config = plan.config();
  std::vector<std::size_t> channels;
  for (std::size_t c = 0; c < config.frequencies_mhz.size(); ++c)
    if (std::find(config.ignored_channels.begin(), config.ignored_channels.end(), c) ==
        config.ignored_channels.end())
      channels.push_back(c);
  const std::size_t elements = times / config.downsample;
  const auto k = static_cast<std::int64_t>(channels.size());
  std::vector<float> out;
  for (std::size_t b = 0; b < config.beams; ++b) {
    std::vector<std::vector<std::int64_t>> rows(config.frequencies_mhz.size());
    std::vector<std::int64_t> sums(elements);
    for (const std::size_t c : channels) {
      rows[c].resize(elements);
      for (std::size_t t = 0; t < elements * config.downsample; ++t)
        rows[c][t / config.downsample] += sample_of(config, spectra, times, b, t, c);
      for (std::size_t e = 0; e < elements; ++e) sums[e] += rows[c][e];
    }
    for (std::size_t i = 0; i < config.dms.size(); ++i)
      for (std::size_t t = 0; t + plan.max_delay() < elements; ++t) {
        std::int64_t exact = 0;
        for (const std::size_t c : channels) {
          const std::size_t at = t + static_cast<std::size_t>(plan.delay(i, c));
          exact += k * rows[c][at] - sums[at];
        }
        out.push_back(
            static_cast<float>(static_cast<double>(exact) * (1 / static_cast<double>(k))));
      }
  }
  return out;
}

class ZeroDm : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!GetParam().starts_with("cpu")) SKIP_WITHOUT_GPU(GetParam());
    try {
      device = device::open(device::parse_selection(GetParam()));
    } catch (const core::Error& error) {
      if (error.kind() != core::ErrorKind::unsupported) throw;
      GTEST_SKIP() << error.what();
    }
  }

  void compare(Config config, const std::vector<std::byte>& spectra, std::size_t times,
               const Feed& feed, std::size_t most_delays_added) {
    config.zero_dm = true;
    Tunables quick{.gpu = {16, 2, 1, 2, 32}};
    quick.most_delays_added = most_delays_added;
    const auto plan = make_plan(fitted(config, times, feed), device, quick);
    if (device->compiles()) {
      ASSERT_NE(plan->choice().text.find("zero-DM off the sums"), std::string::npos);
    }
    const auto queue = device->make_queue();
    const Series got = run(*plan, *queue, spectra, times, feed);
    ASSERT_GT(got.times, 0u);
    const std::vector<float> expected = definition(*plan, spectra, times);
    ASSERT_EQ(got.floats.size(), expected.size());
    for (std::size_t n = 0; n < expected.size(); ++n)
      ASSERT_EQ(got.floats[n], expected[n]) << "trial " << n / got.times % got.trials << ", time "
                                            << n % got.times << ", " << plan->choice().text;
  }

  std::shared_ptr<const device::Device> device;
  std::mt19937_64 random = tests::generator();
};

TEST_P(ZeroDm, EveryKindOfBytes) {
  for (const int bits : {1, 2, 4, 8}) {
    Config config = small_config(bits == 1 ? 64 : 37, bits, 9);
    config.ignored_channels = {0, 20};
    const auto spectra = make_spectra(config, 500, random);
    for (const std::size_t added : {std::size_t{0}, std::size_t{20}, std::size_t{1000}})
      compare(config, spectra, 500, {{123}, bits == 8, added == 20}, added);
  }
}

TEST_P(ZeroDm, SignedBeamsAndSums) {
  Config config = small_config(40, 8, 7);
  config.beams = 2;
  config.signed_samples = true;
  config.zero_level = 3;
  config.ignored_channels = {39};
  const auto spectra = make_spectra(config, 600, random);
  compare(config, spectra, 600, {{250, 3}}, 10);
  config.signed_samples = false;
  config.bits = 4;
  config.downsample = 4;
  config.measure_channels = true;
  const auto fours = make_spectra(config, 1800, random);
  compare(config, fours, 1800, {{250, 3}, false, true}, 5);
}

struct Swept {
  std::size_t channels;
  double furthest_dm;
  bool together;  // data swing as one between the least and the most
};

class ZeroDmTransforms : public ZeroDm {
 protected:
  void compare_all(const std::vector<Swept>& shapes);
};

void ZeroDmTransforms::compare_all(const std::vector<Swept>& shapes) {
  for (const Swept& shape : shapes) {
    Config config = small_config(shape.channels, 8, 1);
    config.dms = {shape.furthest_dm, 0, shape.furthest_dm / 3};
    config.method = Method::exact;
    const std::size_t delay = make_plan(config, device::open({}))->max_delay();
    const std::size_t times = delay + 700;
    auto spectra = make_spectra(config, times, random);
    for (std::size_t t = 0; shape.together && t < times; ++t)
      std::fill_n(spectra.begin() + static_cast<std::ptrdiff_t>(t * shape.channels), shape.channels,
                  random() % 2 == 0 ? std::byte{0} : std::byte{255});
    SCOPED_TRACE("delays to " + std::to_string(delay));
    compare(config, spectra, times, {{delay + 90, 333}}, 0);
  }
}

TEST_P(ZeroDmTransforms, OfSmallSizes) {
  compare_all({{48, 250, true}, {24, 1500, false}});
}

// The largest in several parts.
TEST_P(ZeroDmTransforms, OfLargeSizes) {
  if (device->compiles() && tests::compiles_slowly(GetParam()))
    GTEST_SKIP() << "compiling for a CPU's OpenCL takes minutes: set TAUTLINE_FULL";
  compare_all({{16, 4000, true}, {6, 20000, false}});
}

// With so many channels that 32 bits do not hold the sums, CPUs add floats.
TEST(ZeroDmOfManyChannels, IsTheReferencesWithinRounding) {
  auto random = tests::generator();
  for (const std::size_t channels : {std::size_t{2901}, std::size_t{2903}}) {
    Config config = small_config(channels, 8, 2);
    config.zero_dm = true;
    EXPECT_EQ(DelayPlan(config).whole_zero_dm(), channels == 2901);
    const std::size_t times = make_plan(config, device::open({}))->max_delay() + 60;
    std::vector<std::byte> spectra(times * channels);
    for (std::byte& value : spectra) value = random() % 2 == 0 ? std::byte{0} : std::byte{255};
    const Series expected = run("reference", config, spectra, times);
    const Series got = run("cpu", config, spectra, times);
    ASSERT_EQ(got.floats.size(), expected.floats.size());
    for (std::size_t n = 0; n < got.floats.size(); ++n)
      ASSERT_NEAR(got.floats[n], expected.floats[n], 1e-6 * 255 * static_cast<double>(channels));
  }
}

std::vector<std::string> processors_and_gpus() {
  std::vector<std::string> names = tests::gpu_names();
  names.insert(names.end(), {"cpu:portable", "cpu:avx2", "cpu:avx512"});
  return names;
}

INSTANTIATE_TEST_SUITE_P(Devices, ZeroDm, ::testing::ValuesIn(processors_and_gpus()),
                         [](const auto& info) { return tests::test_name(info.param); });
INSTANTIATE_TEST_SUITE_P(Devices, ZeroDmTransforms, ::testing::ValuesIn(processors_and_gpus()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(ZeroDmTables, CountEveryChannelOnceAndChooseByDelays) {
  const auto delay = [](std::size_t trial, std::size_t position) {
    return static_cast<std::uint32_t>(trial * position / 2);
  };
  const std::size_t trials = 40, positions = 100;
  for (const std::size_t most : {std::size_t{0}, std::size_t{256}, std::size_t{1024}}) {
    const ZeroDmTables tables = make_zero_dm_tables(trials, positions, delay, most, 60);
    ASSERT_EQ(tables.starts.size(), trials + 1);
    for (std::size_t i = 0; i < trials; ++i) {
      std::size_t channels = 0;
      for (std::size_t e = tables.starts[i]; e < tables.starts[i + 1]; ++e) {
        if (e > tables.starts[i]) {
          EXPECT_LT(tables.entries[2 * e - 2], tables.entries[2 * e]);
        }
        channels += tables.entries[2 * e + 1];
      }
      EXPECT_EQ(channels, positions);
    }
    EXPECT_EQ(tables.added.size() + tables.transformed.size(), trials);
    // Trial 1 has 50 different delays, trial 2 100 of them.
    EXPECT_EQ(tables.added.size(), most == 0 ? trials : 2u);
    if (most == 0) continue;
    EXPECT_EQ(tables.points, most);
    const std::size_t longest = 39 * 99 / 2;
    EXPECT_GT(tables.parts * tables.points / 2, longest);
    EXPECT_LE((tables.parts - 1) * tables.points / 2, longest);
  }
  // Nobody has memory for so many parts.
  const auto far = [](std::size_t, std::size_t p) { return static_cast<std::uint32_t>(p * 9999); };
  EXPECT_TRUE(make_zero_dm_tables(3, 100, far, 16384, 60).transformed.empty());
}

}  // namespace
}  // namespace tautline::stages::dedisperse
