// Float input and zero-DM stay within the case's tolerance; channel moments; values that are not
// finite.
#include <cmath>

#include "tests/stages/dedisperse/support.h"

namespace tautline::stages::dedisperse {
namespace {

// Largest difference allowed: kFloatTolerance of the sum of magnitudes, for values of about
// `scale`.
void expect_close(const Series& got, const Series& expected, double channels, double scale,
                  const std::string& where) {
  ASSERT_EQ(got.floats.size(), expected.floats.size()) << where;
  ASSERT_FALSE(got.floats.empty()) << where;
  double worst = 0;
  for (std::size_t k = 0; k < got.floats.size(); ++k)
    worst = std::max(worst, std::abs(static_cast<double>(got.floats[k]) - expected.floats[k]));
  EXPECT_LE(worst, Case::kFloatTolerance * channels * scale) << where;
}

TEST(Float, EveryMethodAndInstructionSet) {
  for (const std::size_t channels : {1u, 3u, 70u, 1024u})
    for (const Method method : {Method::exact, Method::shared}) {
      Config config = small_config(channels, 32, 8);
      config.method = method;
      auto random = tests::generator();
      const auto spectra = make_spectra(config, 300, random);
      const Series expected = run("reference", config, spectra, 300);
      for (const std::string& device : host_devices())
        expect_close(run(device, config, spectra, 300, {{123}}), expected,
                     static_cast<double>(channels), 1, device + " " + to_string(method));
    }
}

TEST(Float, AnySplitGivesTheSameBits) {
  Config config = small_config(50, 32, 20);
  config.downsample = 3;
  config.zero_dm = true;
  auto random = tests::generator();
  const auto spectra = make_spectra(config, 700, random);
  for (const std::string& device : host_devices()) {
    const Series whole = run(device, config, spectra, 700);
    ASSERT_FALSE(whole.floats.empty());
    EXPECT_EQ(run(device, config, spectra, 700, {{1, 100, 64}, true}).floats, whole.floats);
    EXPECT_EQ(run(device, config, spectra, 700, {{65}, false, true}).floats, whole.floats);
  }
}

TEST(Float, ZeroDmSubtractsTheMeanOverChannels) {
  for (const int bits : {1, 4, 8, 16, 32}) {
    Config config = small_config(48, bits, 10);
    config.zero_dm = true;
    config.ignored_channels = {3, 20};
    auto random = tests::generator();
    const auto spectra = make_spectra(config, 400, random);
    const Series expected = run("reference", config, spectra, 400);
    const double scale = bits == 32 ? 1 : (1 << bits) - 1;
    for (const std::string& device : host_devices())
      expect_close(run(device, config, spectra, 400, {{90}}), expected, 48, scale, device);
    // Trial 0 has no delays: what is left of it is rounding.
    for (std::size_t t = 0; t < expected.times; ++t)
      ASSERT_NEAR(expected.floats[t], 0, 1e-6 * scale * 48);
  }
}

TEST(Float, ValuesThatAreNotFiniteAreZeroAndCounted) {
  Config config = small_config(10, 32, 4);
  auto random = tests::generator();
  auto spectra = make_spectra(config, 200, random);
  auto cleaned = spectra;
  const float bad[] = {std::nanf(""), std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t at = 4 * ((17 + 50 * k) * 10 + k);
    std::memcpy(spectra.data() + at, &bad[k], 4);
    std::memset(cleaned.data() + at, 0, 4);
  }
  auto devices = host_devices();
  devices.push_back("reference");
  for (const std::string& device : devices) {
    const Series got = run(device, config, spectra, 200, {{33}});
    EXPECT_EQ(got.not_finite, 3u) << device;
    EXPECT_EQ(got.floats, run(device, config, cleaned, 200).floats) << device;
  }
}

TEST(Moments, AreExactForIntegersAndOfEveryChannel) {
  for (const int bits : {2, 8, 16}) {
    Config config = small_config(21, bits, 3);
    config.beams = 2;
    config.measure_channels = true;
    config.ignored_channels = {5};
    auto random = tests::generator();
    const auto spectra = make_spectra(config, 300, random);
    const auto expected = run("reference", config, spectra, 300).moments;
    ASSERT_EQ(expected.size(), 42u);
    EXPECT_EQ(expected[5].count, 300);
    for (const std::string& device : host_devices()) {
      const auto got = run(device, config, spectra, 300, {{100, 7}, false, true}).moments;
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        EXPECT_EQ(got[k].count, expected[k].count);
        EXPECT_EQ(got[k].sum, expected[k].sum);
        EXPECT_EQ(got[k].sum_of_squares, expected[k].sum_of_squares);
      }
    }
  }
}

}  // namespace
}  // namespace tautline::stages::dedisperse
