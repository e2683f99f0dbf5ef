// Light that swings with the mains is named in fits, with its frequency; noise and diffusion are none.
#include "tautline/pipeline/photons/fit/mains_swing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>

#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/simulation/simulate_photons.h"
#include "tests/pipeline/photons/count_files.h"
#include "tests/pipeline/photons/fit_examples.h"

namespace tautline::pipeline {
namespace {

std::size_t with_swing(const FitResult& result) {
  std::size_t count = 0;
  for (const CurveFit& one : result.fits) count += one.swing.empty() ? 0 : 1;
  return count;
}

// Curves of sensors with diffusing molecules, whose light swings by this part.
core::CorrelationCurves simulated(double n, double tau_s, double part, double frequency_hz,
                                  std::mt19937_64& random) {
  const tests::ScratchFolder scratch;
  SimulatePhotonsConfig simulate;
  simulate.output = scratch / "diffusion.npy";
  simulate.sensors = 4;
  simulate.duration_s = 4;
  simulate.bin_s = 4e-5;
  simulate.model.species = {{n, tau_s, 1e5}};
  simulate.seed = random();
  simulate_photons(simulate);
  AutocorrelateConfig config = tests::config_for(simulate.output);
  if (part > 0) {
    std::vector<std::uint8_t> counts;
    const auto reader = formats::open_counts(simulate.output, {});
    counts.resize(400'000);
    reader->read(std::as_writable_bytes(std::span(counts)));
    std::uniform_real_distribution<double> draw;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const double phase =
          2 * std::numbers::pi * frequency_hz * simulate.bin_s * static_cast<double>(k / 4);
      const double kept = (1 + part * std::cos(phase)) / (1 + part);
      counts[k] =
          static_cast<std::uint8_t>(std::binomial_distribution<int>(counts[k], kept)(random));
    }
    config = tests::config_for(tests::save(scratch, counts, 4));
  }
  config.bin_s = simulate.bin_s;
  config.bins = 16;
  config.levels = 12;
  AutocorrelateSummary summary;
  return correlate_counts(config, device::open({}, {.threads = 2}), summary);
}

}  // namespace

// g of light 1 + a cos(2 pi f t) has a^2 / 2 cos(2 pi f lag) more, and its product with the rest.
TEST(MainsSwing, OfExactCurvesIsNamedWithItsFrequencyAndSize) {
  auto random = tests::generator();
  for (const double frequency_hz : {50.0, 60.0, 100.0, 120.0})
    for (const double part : {0.05, 0.2}) {
      SCOPED_TRACE(testing::Message() << frequency_hz << " Hz, " << part);
      auto values = tests::true_values(tests::kPlain);
      values[0] = part < 0.1 ? 100 : 5;
      auto curves = tests::exact(tests::kPlain, {values}, 0.03);
      for (std::size_t m = 0; m < curves.lags; ++m) {
        const double cosine = std::cos(2 * std::numbers::pi * frequency_hz * curves.lag_s[m]);
        curves.g[m] = (1 + curves.g[m]) * (1 + part * part / 2 * cosine) - 1;
        curves.standard_error[m] = 0.03 * (0.05 / values[0] + std::abs(curves.g[m]));
      }
      tests::add_noise(curves, random);
      const std::string status = fit_curves(curves, {}).fits[0].status;
      const std::string begin = "the light swings with some ";
      ASSERT_TRUE(status.starts_with(begin)) << status;
      EXPECT_NEAR(std::atof(status.c_str() + begin.size()), frequency_hz, 0.5) << status;
      const std::string by = " Hz by ";
      EXPECT_NEAR(std::atof(status.c_str() + status.find(by) + by.size()), 100 * part, 30 * part)
          << status;
    }
}

TEST(MainsSwing, IsNotSeenInNoise) {
  auto random = tests::generator();
  std::size_t found = 0;
  for (const tests::Model& model : tests::kModels) {
    auto curves = tests::exact(model, 30, 0.03);
    tests::add_noise(curves, random);
    FitConfig config;
    config.model = model;
    found += with_swing(fit_curves(curves, config));
  }
  EXPECT_EQ(found, 0u);
}

// Simulated light, with its own noise; also where the model is the wrong one.
TEST(MainsSwing, OfDiffusingMoleculesIsNamed) {
  auto random = tests::generator();
  EXPECT_GE(with_swing(fit_curves(simulated(10, 3e-4, 0.3, 100, random), {})), 3u);
  std::size_t found = 0;
  FitConfig scattering;
  scattering.model = fit::parse_model("cumulants1");
  for (const auto& [n, tau_s] : {std::pair{0.3, 3e-4}, {0.5, 4e-3}, {3.0, 3e-4}, {3.0, 4e-3}}) {
    const auto curves = simulated(n, tau_s, 0, 100, random);
    found += with_swing(fit_curves(curves, {})) + with_swing(fit_curves(curves, scattering));
  }
  EXPECT_LE(found, 0u);
}

}  // namespace tautline::pipeline
