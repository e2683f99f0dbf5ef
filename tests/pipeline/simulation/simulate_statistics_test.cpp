// Powers, distributions and independence of simulated voltages.
#include <gtest/gtest.h>

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/pipeline/simulation/plan.h"
#include "tautline/pipeline/simulation/random.h"
#include "tests/pipeline/simulated.h"
#include "tests/support/seed.h"

namespace tautline {
namespace {

using tests::array_at;
using tests::ScratchFolder;

tests::Voltages simulate(const std::string& scene_text, const formats::ArrayLayout& array,
                         pipeline::SimulateConfig config) {
  const ScratchFolder folder;
  config.output = folder / "v.dada";
  config.bits = 16;
  pipeline::simulate_voltages(config, array, formats::scene::parse_scene(scene_text, "test"));
  return tests::read_dada(config.output, array.inputs.size(), 16, config.real);
}

double mean_power(const std::vector<std::complex<double>>& x) {
  double sum = 0;
  for (const auto& v : x) sum += std::norm(v);
  return sum / static_cast<double>(x.size());
}

std::complex<double> correlation(const std::vector<std::complex<double>>& x,
                                 const std::vector<std::complex<double>>& y, std::size_t lag = 0) {
  std::complex<double> sum = 0;
  for (std::size_t t = lag; t < x.size(); ++t) sum += x[t] * std::conj(y[t - lag]);
  return sum / static_cast<double>(x.size() - lag) / std::sqrt(mean_power(x) * mean_power(y));
}

// Known answers of Random123's kat_vectors.
TEST(Philox, GivesThePublishedNumbers) {
  using pipeline::simulation::philox4x32;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The fast loop takes its numbers from the counters that its contract names, at any length.
TEST(Philox, DeviatesComeFromTheCounters) {
  using namespace pipeline::simulation;
  const float* table = NormalTable::instance().values();
  const std::uint64_t seed = tests::seed();
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                         static_cast<std::uint32_t>(seed >> 32)};
  for (const std::size_t length : {1u, 31u, 32u, 127u, 128u, 129u, 1000u}) {
    std::vector<float> values(length, 1.0f);
    add_normal({seed, 7, 0x1'2345'6789ull}, 2.0f, values.data(), length);
    for (std::size_t n = 0; n < length; ++n) {
      const auto counter = static_cast<std::uint32_t>(n / 128 * 16 + n % 16);
      const auto words = philox4x32({counter, 7, 0x2345'6789u, 1}, key);
      const std::size_t word = n % 128 / 32;
      const std::uint32_t bits = n % 32 < 16 ? words[word] & 0xffff : words[word] >> 16;
      ASSERT_EQ(values[n], 1.0f + 2.0f * table[bits]) << n << " of " << length;
    }
  }
}

TEST(NormalTable, IsWhatItSays) {
  const float* table = pipeline::simulation::NormalTable::instance().values();
  constexpr double kSize = pipeline::simulation::NormalTable::kSize;
  double second = 0, fourth = 0, distance = 0;
  for (std::size_t n = 0; n < pipeline::simulation::NormalTable::kSize; ++n) {
    const double z = table[n];
    second += z * z / kSize;
    fourth += z * z * z * z / kSize;
    const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
    distance = std::max({distance, std::abs(below - static_cast<double>(n) / kSize),
                         std::abs(below - static_cast<double>(n + 1) / kSize)});
    if (n > 0) {
      EXPECT_GT(table[n], table[n - 1]);
    }
  }
  EXPECT_NEAR(second, 1, 1e-6);
  EXPECT_NEAR(fourth, 3, 3e-4);
  EXPECT_LT(distance, 1e-5);
}

// So many standard errors are allowed everywhere: hundreds of moments together exceed them less
// than once in 10 million runs.
constexpr double kSigmas = 6.5;

// Every moment within its standard errors of a Gaussian's, inputs and times independent.
TEST(SimulatedNoise, IsWhiteGaussianAndIndependent) {
  for (const bool real : {false, true}) {
    const auto array = array_at({{0, 0, 0}, {10, 0, 0}});
    pipeline::SimulateConfig config;
    config.real = real;
    config.seed = tests::seed();
    config.duration_s = 0.4;
    const auto v = simulate("noise_rms = [1, 1, 2, 0.5]\nrms_steps = 1000\n", array, config);
    const auto count = static_cast<double>(v.inputs[0].size());
    const double unit = 1000 / std::sqrt((1 + 1 + 4 + 0.25) / 4);  // steps a component
    const double parts = real ? 1 : 2;
    const double rms[4] = {1, 1, 2, 0.5};
    for (std::size_t i = 0; i < 4; ++i) {
      double fourth = 0;
      for (const auto& x : v.inputs[i]) fourth += std::pow(x.real() / unit / rms[i], 4) / count;
      EXPECT_NEAR(mean_power(v.inputs[i]) / parts / std::pow(unit * rms[i], 2), 1,
                  kSigmas * std::sqrt(2 / parts / count));
      EXPECT_NEAR(fourth, 3, kSigmas * std::sqrt(96 / count) + 0.001);
      for (const std::size_t lag : {1u, 2u, 1791u, 1792u})
        EXPECT_LT(std::abs(correlation(v.inputs[i], v.inputs[i], lag)), kSigmas / std::sqrt(count));
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_LT(std::abs(correlation(v.inputs[i], v.inputs[j])), kSigmas / std::sqrt(count));
    }
  }
}

// A source is stationary across the joints of its blocks, white and Gaussian, of the power asked
// for, the same in both antennas, and independent between feeds unless polarised.
TEST(SimulatedSource, HasItsFluxAndPolarisation) {
  for (const bool real : {false, true}) {
    const auto array = array_at({{0, 0, 0}, {0, 0, 0}});
    pipeline::SimulateConfig config;
    config.real = real;
    config.seed = tests::seed();
    config.duration_s = 0.3;
    const std::string place = "azimuth_deg = 10\nelevation_deg = 60\n";
    const auto plain = simulate(
        "noise_rms = 0\nrms_steps = 1000\n[[source]]\nflux = 0.25\n" + place, array, config);
    const auto count = static_cast<double>(plain.inputs[0].size());
    const double parts = real ? 1 : 2, scatter = kSigmas / std::sqrt(count);
    double fourth = 0;
    for (const auto& x : plain.inputs[0]) fourth += std::pow(x.real() / 1000, 4) / count;
    EXPECT_NEAR(fourth, 3, kSigmas * std::sqrt(96 / count));
    for (const auto& x : plain.inputs)
      EXPECT_NEAR(mean_power(x) / parts / 1e6, 1, kSigmas * std::sqrt(2 / parts / count));
    EXPECT_NEAR(std::abs(correlation(plain.inputs[0], plain.inputs[2])), 1, 1e-4);
    EXPECT_LT(std::abs(correlation(plain.inputs[0], plain.inputs[1])), scatter);
    for (const std::size_t lag : {1u, 256u, 1792u, 2048u})
      EXPECT_LT(std::abs(correlation(plain.inputs[0], plain.inputs[0], lag)), scatter);
    // Power where blocks fade into each other is the power elsewhere.
    double fading = 0, steady = 0;
    for (std::size_t t = 0; t < plain.inputs[0].size(); ++t)
      (t % 1792 < 256 ? fading : steady) += std::norm(plain.inputs[0][t]);
    // Of a seventh of the samples: 4 / sqrt(count) is one standard error of real samples' ratio.
    EXPECT_NEAR(fading / steady * 1536 / 256, 1, 4.1 * scatter);

    const auto half = simulate(
        "noise_rms = 0\nrms_steps = 1000\n[[source]]\nflux = 1\npolarised_fraction = 0.5\n"
        "polarisation_angle_deg = 30\n" +
            place,
        array, config);
    // Power in x: (1 - p) + 2 p cos^2, in y with sin^2, shared: 2 p cos sin.
    const double x = 0.5 + 0.75, y = 0.5 + 0.25, shared = std::sqrt(3.0) / 4;
    EXPECT_NEAR(mean_power(half.inputs[0]) / mean_power(half.inputs[1]), x / y, 5 * scatter);
    EXPECT_NEAR(correlation(half.inputs[0], half.inputs[1]).real(), shared / std::sqrt(x * y),
                scatter);
    EXPECT_NEAR(std::abs(correlation(half.inputs[0], half.inputs[3])), shared / std::sqrt(x * y),
                scatter);
  }
}

// flux (f / centre)^index, measured in two halves of a band an octave wide.
TEST(SimulatedSource, HasItsSpectralIndex) {
  const auto array = array_at({{0, 0, 0}}, "x");
  pipeline::SimulateConfig config;
  config.seed = tests::seed();
  config.duration_s = 0.3;
  const auto v = simulate(
      "centre_hz = 1.92e6\nnoise_rms = 0\n[[source]]\nflux = 1\nspectral_index = -2\n"
      "azimuth_deg = 10\nelevation_deg = 60\n",
      array, config);
  const auto spectrum = tests::cross_spectrum(v, 0, 0, 16, false, 0, v.inputs[0].size());
  const auto scene = formats::scene::parse_scene("centre_hz = 1.92e6", "test");
  for (std::size_t k = 2; k < 15; ++k) {
    const double ratio = tests::channel_hz(scene, false, 16, k) / 1.92e6;
    EXPECT_NEAR(spectrum[k].real() / spectrum[8].real() * ratio * ratio, 1, 0.08) << k;
  }
}

// The closed form against the sum that defines it.
TEST(Blocks, CoherenceIsTheMeanOverlapOfTheWindow) {
  using namespace pipeline::simulation;
  const Blocks blocks{2048, 256, 1792};
  const auto window = [&](double n) {
    const double edge = std::min(n, 2048 - n);
    return edge <= 0 ? 0 : edge >= 256 ? 1 : std::sin(std::numbers::pi / 512 * edge);
  };
  for (const double shift : {0.0, 0.5, 13.7, 200.0, 256.0, 300.0, 1000.0}) {
    double sum = 0;
    for (double n = 0.5; n < 2048; ++n) sum += window(n) * window(n - shift) / 1792;
    EXPECT_NEAR(coherence(blocks, shift), sum, 2e-4) << shift;
    EXPECT_EQ(coherence(blocks, -shift), coherence(blocks, shift));
  }
  EXPECT_DOUBLE_EQ(coherence(blocks, 0), 1);
  EXPECT_EQ(coherence(blocks, 1e9), 0);
}

TEST(Blocks, AreLongAgainstDelaysAndShortAgainstFringes) {
  using namespace pipeline::simulation;
  EXPECT_EQ(choose_blocks(0, 0).block, 2048u);
  EXPECT_EQ(choose_blocks(1, 1e-4).block, 128u);
  EXPECT_GE(coherence(choose_blocks(1000, 1e-9), 1000), 0.99);
  EXPECT_THROW(choose_blocks(1000, 1e-5), core::Error);
}

// Amplitude, frequency and phase of a tone hold from the first sample on, over block joints.
TEST(SimulatedTone, IsOneWaveFromTheFirstSample) {
  struct Case {
    bool real, lower;
  };
  for (const Case c :
       {Case{false, false}, Case{false, true}, Case{true, false}, Case{true, true}}) {
    const auto array = array_at({{0, 0, 0}, {30, 0, 0}}, "x");
    pipeline::SimulateConfig config;
    config.real = c.real;
    config.duration_s = 0.02;
    const auto v = simulate(std::string("noise_rms = 0\nrms_steps = 1000\nsideband = \"") +
                                (c.lower ? "lower" : "upper") +
                                "\"\n[[tone]]\nfrequency_hz = 155.0123e6\namplitude = [3, 1]\n"
                                "phase_deg = 25\n",
                            array, config);
    const double zero = c.real ? 154.88e6 + (c.lower ? 0.64e6 : -0.64e6) : 154.88e6;
    const double sign = c.lower ? -1 : 1, rate = c.real ? 2.56e6 : 1.28e6;
    // Powers 9 and 1 (halved for cosines) have a mean rms of 1000 steps a component.
    const double unit = 1000 / std::sqrt(5.0 / 2);
    for (std::size_t t = 0; t < v.inputs[0].size(); ++t) {
      const double angle =
          sign * (2 * std::numbers::pi * (155.0123e6 - zero) / rate * static_cast<double>(t) +
                  25 * std::numbers::pi / 180);
      const std::complex<double> wave = std::polar(unit, angle);
      const std::complex<double> shown = c.real ? wave.real() : wave;
      ASSERT_LT(std::abs(v.inputs[0][t] - 3.0 * shown), 1.0) << t;
      ASSERT_LT(std::abs(v.inputs[1][t] - shown), 1.0) << t;
    }
  }
}

}  // namespace
}  // namespace tautline
