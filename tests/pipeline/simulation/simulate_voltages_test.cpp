// Runs of the simulator: the same bytes however they are made, packing, formats, errors, the truth.
#include "tautline/pipeline/simulation/simulate_voltages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/mwa32t/mwa32t.h"
#include "tests/pipeline/simulated.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline {
namespace {

using tests::array_at;
using tests::ScratchFolder;

const char* const kScene = R"(
start = "2024-03-20T12:00:00.25"
noise_rms = 1
[[source]]
name = "A"
azimuth_deg = 40
elevation_deg = 70
flux = 0.3
polarised_fraction = 0.2
[[source]]
name = "B"
azimuth_deg = 200
elevation_deg = 45
flux = 0.1
spectral_index = -0.7
[[tone]]
frequency_hz = 154.7e6
amplitude = 0.1
)";

formats::scene::Scene scene_of(const std::string& text) {
  return formats::scene::parse_scene(text, "scene.toml");
}

formats::ArrayLayout small_array(const std::string& feeds = "xy") {
  return array_at({{0, 0, 0}, {120, 30, 1}, {-75, 200, -1}}, feeds);
}

std::vector<char> run(pipeline::SimulateConfig config, const formats::ArrayLayout& array,
                      const std::string& scene) {
  const ScratchFolder folder;
  config.output = folder / "v.dada";
  pipeline::simulate_voltages(config, array, scene_of(scene));
  std::vector<char> bytes = tests::read_bytes(config.output);
  return {bytes.begin() + 4096, bytes.end()};
}

// Threads and memory change how the run is cut into pieces, never a bit of it; a longer run begins
// with the shorter one.
TEST(SimulateVoltages, GivesTheSameBytesHoweverItIsCut) {
  for (const bool real : {false, true}) {
    pipeline::SimulateConfig config;
    config.real = real;
    config.duration_s = 0.0412345;
    config.seed = tests::seed();
    config.threads = 1;
    const std::vector<char> one = run(config, small_array(), kScene);
    EXPECT_EQ(one.size(), static_cast<std::size_t>(std::llround(0.0412345 * 1.28e6)) *
                              (real ? 2 : 1) * 6 * (real ? 1 : 2));
    for (const std::size_t threads : {2u, 3u, 8u}) {
      config.threads = threads;
      EXPECT_TRUE(one == run(config, small_array(), kScene)) << threads << " threads";
    }
    config.memory_bytes = 700'000;
    EXPECT_TRUE(one == run(config, small_array(), kScene)) << "short pieces";
    config.memory_bytes = std::size_t{512} << 20;
    config.duration_s *= 2;
    std::vector<char> longer = run(config, small_array(), kScene);
    ASSERT_GT(longer.size(), one.size());
    longer.resize(one.size());
    EXPECT_TRUE(one == longer) << "longer run";
    config.seed ^= 1;
    std::vector<char> other = run(config, small_array(), kScene);
    other.resize(one.size());
    EXPECT_FALSE(one == other) << "another seed";
  }
}

TEST(SimulateVoltages, TakesOddNumbersOfSamplesAndInputs) {
  for (const double samples : {1.0, 2.0, 1791.0, 1792.0, 1793.0}) {
    pipeline::SimulateConfig config;
    config.duration_s = samples / 1.28e6;
    EXPECT_EQ(run(config, small_array("x"), kScene).size(), static_cast<std::size_t>(samples) * 6);
  }
}

// 4 bits are the 8-bit samples clipped to +-7, two components a byte, the first in the low half.
TEST(SimulateVoltages, PacksFourBits) {
  for (const bool real : {false, true}) {
    for (const char* feeds : {"xy", "x"}) {
      const auto array = small_array(feeds);
      const std::string scene = std::string("rms_steps = 2.5\n") + kScene;
      const ScratchFolder folder;
      pipeline::SimulateConfig config;
      config.real = real;
      config.seed = tests::seed();
      config.duration_s = 0.01;
      config.output = folder / "8.dada";
      pipeline::simulate_voltages(config, array, scene_of(scene));
      config.bits = 4;
      config.output = folder / "4.dada";
      const auto summary = pipeline::simulate_voltages(config, array, scene_of(scene));
      const auto eight = tests::read_dada(folder / "8.dada", array.inputs.size(), 8, real);
      const auto four = tests::read_dada(folder / "4.dada", array.inputs.size(), 4, real);
      ASSERT_GT(summary.clipped, 0u);
      for (std::size_t i = 0; i < array.inputs.size(); ++i) {
        ASSERT_EQ(four.inputs[i].size(), eight.inputs[i].size());
        for (std::size_t t = 0; t < four.inputs[i].size(); ++t) {
          const auto x = eight.inputs[i][t];
          const std::complex<double> clipped{std::clamp(x.real(), -7.0, 7.0),
                                             std::clamp(x.imag(), -7.0, 7.0)};
          ASSERT_EQ(four.inputs[i][t], clipped) << i << " " << t;
        }
      }
    }
  }
}

// Two receivers of the prototype: the same samples as in the DADA file, less a gap of one receiver.
TEST(SimulateVoltages, WritesReceivers) {
  std::vector<std::array<double, 3>> places;
  for (int a = 0; a < 16; ++a) places.push_back({7.0 * a, 3.0 * a * a, 0});
  const auto array = array_at(places);
  const std::string gap =
      "[[missing]]\nstart_s = 0.01\nduration_s = 0.001\ninputs = [16, 17, 18, 19, 20, 21, 22, 23, "
      "24, 25, 26, 27, 28, 29, 30, 31]\n[[missing]]\nstart_s = 0.02\nduration_s = 0.001\ninputs = "
      "[3]\n";
  const auto scene = scene_of("rms_steps = 4.0\n" + std::string(kScene) + gap);
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.duration_s = 0.05;
  config.seed = tests::seed();
  config.output = folder / "v.dada";
  pipeline::simulate_voltages(config, array, scene);
  config.format = pipeline::SimulateFormat::mwa32t;
  config.output = folder / "mwa";
  const auto summary = pipeline::simulate_voltages(config, array, scene);
  EXPECT_EQ(summary.files, (std::vector<std::string>{folder / "mwa.0", folder / "mwa.1"}));
  EXPECT_EQ(summary.truth_path, folder / "mwa.truth.json");

  const auto reader = formats::mwa32t::open_receivers(summary.files, {});
  core::RawBlock block;
  const std::size_t samples = reader->read(64000, block);
  ASSERT_EQ(samples, 64000u);
  EXPECT_EQ(reader->damage().lost_samples, 1280u * 16);
  const auto dada = tests::read_dada(folder / "v.dada", 32, 8, false);
  for (std::size_t t = 0; t < samples; ++t) {
    for (std::size_t i = 0; i < 32; ++i) {
      if (i >= 16 && t >= 12800 && t < 14080) continue;
      const auto* p = reinterpret_cast<const std::int8_t*>(block.bytes.data()) + (t * 32 + i) * 2;
      const auto x = dada.inputs[i][t];
      ASSERT_EQ(p[0], std::clamp(x.real(), -15.0, 15.0)) << t << " " << i;
      ASSERT_EQ(p[1], std::clamp(x.imag(), -15.0, 15.0)) << t << " " << i;
      if (i == 3 && t >= 25600 && t < 26880) {
        ASSERT_EQ(x, 0.0);
      }
    }
  }
}

TEST(SimulateVoltages, ClipsAndCounts) {
  const auto array = array_at({{0, 0, 0}}, "x");
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.duration_s = 0.01;
  const auto summary = pipeline::simulate_voltages(config, array, scene_of("rms_steps = 100"));
  const auto v = tests::read_dada(config.output, 1, 8, false);
  std::size_t extreme = 0;
  for (const auto& x : v.inputs[0]) {
    ASSERT_LE(std::max(std::abs(x.real()), std::abs(x.imag())), 127);
    extreme += (std::abs(x.real()) == 127) + (std::abs(x.imag()) == 127);
  }
  // The probability of more than 127.5 / 100 rms, both ends, in 25,600 components: 0.2023.
  EXPECT_NEAR(static_cast<double>(summary.clipped) / 25600, 0.2023, 0.02);
  EXPECT_GE(extreme, summary.clipped);
}

TEST(SimulateVoltages, LeavesNothingWhenStopped) {
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(
      pipeline::simulate_voltages(config, small_array(), scene_of(kScene), {}, stop.get_token()),
      core::Error);
  EXPECT_TRUE(folder.empty());
}

TEST(SimulateVoltages, RefusesToOverwriteUnlessTold) {
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.duration_s = 0.001;
  pipeline::simulate_voltages(config, small_array(), scene_of(kScene));
  EXPECT_THROW(pipeline::simulate_voltages(config, small_array(), scene_of(kScene)), core::Error);
  config.overwrite = true;
  pipeline::simulate_voltages(config, small_array(), scene_of(kScene));
}

TEST(SimulateVoltages, ReportsProgress) {
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.duration_s = 0.05;
  pipeline::Progress last;
  pipeline::simulate_voltages(config, small_array(), scene_of(kScene),
                              [&](const pipeline::Progress& p) { last = p; });
  EXPECT_EQ(last.samples, 64000u);
  EXPECT_EQ(last.total_samples, 64000u);
  EXPECT_NEAR(last.stream_s, 0.05, 1e-12);
}

// Each bad request names what is wrong with it.
TEST(SimulateVoltages, NamesWhatItRefuses) {
  struct Case {
    void (*spoil)(pipeline::SimulateConfig&);
    const char* scene;
    const char* named;
  };
  const Case cases[] = {
      {[](pipeline::SimulateConfig& c) { c.bits = 5; }, "", "bits"},
      {[](pipeline::SimulateConfig& c) { c.duration_s = 0; }, "", "duration"},
      {[](pipeline::SimulateConfig& c) { c.duration_s = 1e-8; }, "", "duration"},
      {[](pipeline::SimulateConfig& c) { c.duration_s = NAN; }, "", "duration"},
      {[](pipeline::SimulateConfig& c) { c.memory_bytes = 1000; }, "", "memory"},
      {[](pipeline::SimulateConfig& c) { c.format = pipeline::SimulateFormat::mwa32t; }, "",
       "6 inputs"},
      {[](pipeline::SimulateConfig&) {}, "noise_rms = [1, 2]", "noise_rms"},
      {[](pipeline::SimulateConfig&) {}, "[[tone]]\nfrequency_hz = 154.8e6\namplitude = [1, 2]",
       "amplitude"},
      {[](pipeline::SimulateConfig&) {}, "[[missing]]\nstart_s = 0\nduration_s = 1\ninputs = [6]",
       "missing"},
      {[](pipeline::SimulateConfig&) {},
       "[[source]]\nname = \"Polaris\"\nra_deg = 37.95\ndec_deg = 89.26\nflux = 1", "Polaris"},
  };
  for (const Case& c : cases) {
    const ScratchFolder folder;
    pipeline::SimulateConfig config;
    config.output = folder / "v";
    config.duration_s = 0.01;
    c.spoil(config);
    const core::Error error = tests::error_of(
        [&] { pipeline::simulate_voltages(config, small_array(), scene_of(c.scene)); });
    EXPECT_NE(std::string(error.what()).find(c.named), std::string::npos) << error.what();
    EXPECT_TRUE(folder.empty()) << c.named;
  }
}

// A reader of the truth alone must find what is in the samples: here a source and noise.
TEST(SimulateVoltages, TellsTheTruth) {
  const auto array = array_at({{0, 0, 0}, {60, 10, 0}});
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.duration_s = 0.4;
  config.seed = tests::seed();
  config.history = "made by a test";
  pipeline::simulate_voltages(config, array, scene_of(R"(
start = "2024-03-20T12:00:00"
[[source]]
azimuth_deg = 100
elevation_deg = 50
flux = 0.5
)"));
  std::ifstream file(folder / "v.truth.json");
  const auto truth = nlohmann::json::parse(file);
  EXPECT_EQ(truth["schema"], "tautline.simulation.truth");
  EXPECT_EQ(truth["version"], 1);
  EXPECT_EQ(truth["seed"], config.seed);
  EXPECT_EQ(truth["made_by"], config.history);
  ASSERT_EQ(truth["baselines"].size(), 1u);
  const auto& baseline = truth["baselines"][0];
  EXPECT_EQ(baseline["ant_1"], 10);
  EXPECT_EQ(baseline["ant_2"], 11);

  const auto v = tests::read_dada(config.output, 4, 8, false);
  const auto samples = static_cast<double>(v.inputs[0].size());
  // conj(x_1) x_2 of the y feeds over the whole band: a delay of 1e-7 s smears it little, and about
  // the centre.
  std::complex<double> sum = 0;
  double power = 0;
  for (std::size_t t = 0; t < v.inputs[0].size(); ++t) {
    sum += std::conj(v.inputs[1][t]) * v.inputs[3][t] / samples;
    power += std::norm(v.inputs[1][t]) / samples;
  }
  const double steps = truth["sampling"]["steps_per_unit"];
  EXPECT_NEAR(power / steps / steps, truth["array"]["inputs"][1]["power"].get<double>(), 0.02);
  EXPECT_NEAR(std::abs(sum) / steps / steps, baseline["yy"]["amplitude"].get<double>(), 0.03);
  EXPECT_NEAR(std::abs(sum) / power, baseline["yy"]["correlation"].get<double>(), 0.02);
  EXPECT_LT(tests::degrees_apart(std::arg(sum) * 180 / std::numbers::pi,
                                 baseline["yy"]["phase_deg"].get<double>()),
            2.0);
  // The delays of the antennas, of the baseline and the phase agree with each other.
  const auto& delays = truth["sources"][0]["antenna_delay_s"];
  const double delay = delays[1].get<double>() - delays[0].get<double>();
  EXPECT_DOUBLE_EQ(delay, baseline["delay_s"][0].get<double>());
  EXPECT_LT(tests::degrees_apart(-360 * 154.88e6 * delay, baseline["xx"]["phase_deg"]), 1e-6);
  EXPECT_NEAR(truth["sources"][0]["elevation_deg"].get<double>(), 50, 0.01);
  EXPECT_NEAR(truth["sources"][0]["azimuth_deg"].get<double>(), 100, 0.01);
}

}  // namespace
}  // namespace tautline
