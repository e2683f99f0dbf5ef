// Simulated photons: the same for any number of threads, rates and curves as the truth says, tags
// that bin to what counts would be, refusals that leave nothing.
#include "tautline/pipeline/simulation/simulate_photons.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/photon_reader.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

SimulatePhotonsConfig config_of(const std::string& output) {
  SimulatePhotonsConfig config;
  config.output = output;
  config.duration_s = 0.5;
  config.bin_s = 1e-5;
  config.model.species = {{0.5, 2e-4, 5e4}};
  config.seed = tests::seed();
  return config;
}

TEST(SimulatePhotons, FrequenciesHaveUnits) {
  SimulatePhotonsConfig config;
  core::set(config, "background_hz", "10kHz");
  core::set(config, "hot_rate_hz", "0.25MHz");
  core::set(config, "sync_rate_hz", "80MHz");
  EXPECT_EQ(config.model.background_hz, 1e4);
  EXPECT_EQ(config.hot_rate_hz, 2.5e5);
  EXPECT_EQ(config.sync_rate_hz, 8e7);
  EXPECT_THROW(core::set(config, "sync_rate_hz", "0kHz"), core::Error);
  EXPECT_THROW(core::set(config, "background_hz", "1ms"), core::Error);
}

// As fields in seconds and hertz have them.
TEST(SimulatePhotons, ModelsHaveUnits) {
  simulation::PhotonModel units;
  parse_photon_model("diffusion:n=2,tau=200us,rate=50kHz", units);
  parse_photon_model("diffusion:tau=1.5 ms,rate=0.1MHz", units);
  EXPECT_EQ(units.species.at(0).tau_s, 2e-4);
  EXPECT_EQ(units.species.at(0).rate_hz, 5e4);
  EXPECT_EQ(units.species.at(1).tau_s, 1.5e-3);
  EXPECT_EQ(units.species.at(1).rate_hz, 1e5);
  for (const char* text : {"diffusion:tau=50kHz", "diffusion:rate=200us", "diffusion:n=2kHz"})
    EXPECT_THROW(parse_photon_model(text, units), core::Error) << text;
  SimulatePhotonsConfig config;
  core::set(config, "model", "diffusion:n=2,tau=200us,rate=50kHz;diffusion:tau=1 ms");
  EXPECT_EQ(config.model.species.at(0).rate_hz, 5e4);
  EXPECT_EQ(config.model.species.at(1).tau_s, 1e-3);
}

TEST(SimulatePhotons, TheSameForAnyNumberOfThreads) {
  const tests::ScratchFolder folder;
  std::vector<std::string> bytes;
  for (const std::size_t threads : {1u, 2u}) {
    auto config = config_of(folder / (std::to_string(threads) + ".u8"));
    config.sensors = 6;
    config.threads = threads;
    const auto summary = simulate_photons(config);
    EXPECT_EQ(summary.bins, 50'000u);
    bytes.push_back(load(config.output));
    EXPECT_EQ(bytes.back().size(), 300'000u);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  auto other = config_of(folder / "3.u8");
  other.sensors = 6;
  ++other.seed;
  simulate_photons(other);
  EXPECT_NE(load(other.output), bytes[0]);
}

// Sensors first: sums over many bins, so that one comparison has the weight of all.
TEST(SimulatePhotons, RateAndShortLagsAreTheTruths) {
  const tests::ScratchFolder folder;
  auto config = config_of(folder / "x.u16");
  config.sensors = 40;
  config.bits = 16;
  config.duration_s = std::getenv("TAUTLINE_FULL") ? 8 : 1;
  config.model.background_hz = 1e4;
  simulate_photons(config);
  const std::string bytes = load(config.output);
  std::vector<std::uint16_t> counts(bytes.size() / 2);
  std::memcpy(counts.data(), bytes.data(), bytes.size());
  const std::size_t sensors = 40, bins = counts.size() / sensors;
  double rate = 0, rate2 = 0, g = 0, g2 = 0;
  for (std::size_t s = 0; s < sensors; ++s) {
    double sum = 0, product = 0;
    for (std::size_t t = 0; t < bins; ++t) {
      sum += counts[t * sensors + s];
      if (t + 10 < bins) product += counts[t * sensors + s] * counts[(t + 10) * sensors + s];
    }
    const double mean = 0.6;  // the truth: 6e4 photons a second, bins of 1e-5 s
    const double one_rate = sum / static_cast<double>(bins) / mean;
    const double one_g = product / static_cast<double>(bins - 10) / (mean * mean) - 1;
    // E[product] / mean^2 - 1 without the noise of the mean itself.
    const double clean = one_g - 2 * (one_rate - 1);
    rate += one_rate / sensors;
    rate2 += one_rate * one_rate / sensors;
    g += clean / sensors;
    g2 += clean * clean / sensors;
  }
  const double rate_error = std::sqrt((rate2 - rate * rate) / sensors);
  const double g_error = std::sqrt((g2 - g * g) / sensors);
  const nlohmann::json truth = nlohmann::json::parse(load(folder / "x.truth.json"));
  const double g0 = truth["expected"]["g0"], offset = truth["expected"]["offset"];
  EXPECT_NEAR(truth["expected"]["mean_rate_hz"].get<double>(), 6e4, 1);
  const double lag_over_tau = 0.5;
  const double expected = g0 / (1 + lag_over_tau) / std::sqrt(1 + lag_over_tau / 25) + offset;
  // The errors are those of 40 sensors: Student's t of 39 degrees of freedom exceeds 8 once in 1e9.
  EXPECT_NEAR(rate, 1, 8 * rate_error);
  EXPECT_LT(rate_error, 0.02);
  EXPECT_NEAR(g, expected, 8 * g_error);
  EXPECT_LT(g_error, 0.1 * expected);
}

TEST(SimulatePhotons, TagsOfEitherMode) {
  const tests::ScratchFolder folder;
  for (const bool t3 : {true, false}) {
    auto config = config_of(folder / (t3 ? "t3.ptu" : "t2.ptu"));
    config.t3 = t3;
    config.sensors = 3;
    config.model.lifetime_s = 3e-9;
    config.hot_sensors = {2};
    config.hot_rate_hz = 2e5;
    const auto summary = simulate_photons(config);
    const auto reader = formats::open_photons(config.output);
    EXPECT_EQ(reader->description().mode, t3 ? formats::TagMode::t3 : formats::TagMode::t2);
    const auto detectors = formats::count_detectors(*reader);
    ASSERT_EQ(detectors.size(), 3u);
    std::uint64_t all = 0;
    for (const auto& detector : detectors) all += detector.photons;
    EXPECT_EQ(all, summary.photons);
    EXPECT_GT(detectors[2].photons, detectors[0].photons + 50'000);
    EXPECT_NEAR(reader->description().rates_hz.at(2),
                static_cast<double>(detectors[2].photons) / 0.5, 1);
    double microtime_s = 0, fluorescence = 0;
    std::vector<formats::Photon> photons(1000);
    while (const std::size_t count = reader->read(photons))
      for (std::size_t n = 0; n < count; ++n)
        if (photons[n].channel < 2) {
          microtime_s += photons[n].microtime * reader->description().microtime_unit_s;
          ++fluorescence;
        }
    EXPECT_FALSE(reader->damage().any());
    EXPECT_NEAR(microtime_s / fluorescence, t3 ? 3e-9 : 0, 1e-10);
  }
}

TEST(SimulatePhotons, AfterpulsesAddTheirShare) {
  const tests::ScratchFolder folder;
  auto config = config_of(folder / "x.u8");
  config.sensors = 4;
  const auto plain = simulate_photons(config);
  config.output = folder / "y.u8";
  config.model.species[0].rate_hz = 1e-9;
  config.model.background_hz = 2e5;
  const auto background = simulate_photons(config);
  config.output = folder / "z.u8";
  config.model.afterpulsing = 0.2;
  const auto afterpulsed = simulate_photons(config);
  EXPECT_GT(plain.photons, 0u);
  const double ratio =
      static_cast<double>(afterpulsed.photons) / static_cast<double>(background.photons);
  EXPECT_NEAR(ratio, 1 / (1 - 0.2), 0.02);
}

TEST(SimulatePhotons, RefusalsNameTheFieldAndLeaveNothing) {
  const tests::ScratchFolder folder;
  const auto refused = [&](auto change) {
    auto config = config_of(folder / "x.npy");
    change(config);
    EXPECT_THROW(simulate_photons(config), core::Error);
    EXPECT_TRUE(folder.empty());
  };
  refused([](auto& c) { c.sensors = 0; });
  refused([](auto& c) { c.duration_s = -1; });
  refused([](auto& c) { c.bin_s = 0; });
  refused([](auto& c) { c.bin_s = 10; });
  refused([](auto& c) { c.model.species.clear(); });
  refused([](auto& c) { c.model.species[0].n = 0; });
  refused([](auto& c) { c.model.species[0].tau_s = std::nan(""); });
  refused([](auto& c) { c.model.kappa = 0.5; });
  refused([](auto& c) { c.model.afterpulsing = 0.7; });
  refused([](auto& c) { c.rows = 2, c.columns = 2; });
  refused([](auto& c) { c.hot_sensors = {1}; });
  refused([](auto& c) { c.memory_bytes = 1000; });
  refused([](auto& c) { c.bits = 12; });
  refused([](auto& c) { c.model.background_hz = 1e9; });  // counts over 255
  refused([](auto& c) { c.output += ".ptu", c.sensors = 65; });
  simulation::PhotonModel model;
  for (const char* text :
       {"brownian:n=1", "diffusion:n", "diffusion:n=", "diffusion:n=1x", "diffusion:m=1"})
    EXPECT_THROW(parse_photon_model(text, model), core::Error) << text;
  parse_photon_model("diffusion:n=2,tau=1e-3,rate=5,kappa=4", model);
  EXPECT_EQ(model.species.at(0).tau_s, 1e-3);
  EXPECT_EQ(model.kappa, 4);
}

}  // namespace
}  // namespace tautline::pipeline
