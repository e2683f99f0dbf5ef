// Simulated filterbanks: the pulses are where the truth says and as strong, the noise is as asked
// for.
#include "tautline/pipeline/simulation/simulate_filterbank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tautline/core/error.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/simulation/pulses.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using formats::Delivered;

constexpr double kConstant = 4148.808;

SimulateFilterbankConfig config_for(int bits = 32, std::size_t channels = 32) {
  SimulateFilterbankConfig config;
  config.scene.channels = channels;
  config.scene.fch1_mhz = 1500;
  config.scene.foff_mhz = -2;
  config.scene.tsamp_s = 0.0005;
  config.scene.bits = bits;
  config.scene.start = core::parse_utc("2024-01-02T03:04:05");
  config.duration_s = 2;
  config.seed = tests::generator()();
  return config;
}

formats::scene::DispersedPulse pulse_of(double dm, double time_s, double width_s, double snr) {
  formats::scene::DispersedPulse pulse;
  pulse.dm = dm;
  pulse.time_s = time_s;
  pulse.width_s = width_s;
  pulse.snr = snr;
  return pulse;
}

class SimulateFilterbank : public ::testing::Test {
 protected:
  // [time][channel]
  std::vector<double> make(SimulateFilterbankConfig config, const std::string& name = "x.fil") {
    config.output = scratch_ / name;
    config.overwrite = true;
    simulate_filterbank(config);
    const auto reader = formats::open_filterbank({config.output});
    const auto& d = reader->description();
    std::vector<std::byte> bytes(d.samples * d.sample_bytes());
    EXPECT_EQ(reader->read(0, d.samples, bytes), d.samples);
    std::vector<double> values(d.samples * d.channels);
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = d.delivered == Delivered::u8 ? static_cast<double>(std::to_integer<int>(bytes[k]))
                  : d.delivered == Delivered::u16
                      ? static_cast<double>(reinterpret_cast<const std::uint16_t*>(bytes.data())[k])
                      : static_cast<double>(reinterpret_cast<const float*>(bytes.data())[k]);
    return values;
  }

  // The pulses alone: a run with them less the same run without.
  std::vector<double> pulses_alone(SimulateFilterbankConfig config) {
    std::vector<double> with = make(config);
    config.scene.pulses.clear();
    const std::vector<double> without = make(config);
    for (std::size_t k = 0; k < with.size(); ++k) with[k] -= without[k];
    return with;
  }

  nlohmann::json truth() {
    std::ifstream file(scratch_ / "x.truth.json");
    return nlohmann::json::parse(file);
  }

  tests::ScratchFolder scratch_;
};

std::vector<double> dedispersed(const std::vector<double>& values,
                                const SimulateFilterbankConfig& config, double dm) {
  const std::size_t channels = config.scene.channels, samples = values.size() / channels;
  const double reference =
      std::max(config.scene.fch1_mhz,
               config.scene.fch1_mhz + (static_cast<double>(channels) - 1) * config.scene.foff_mhz);
  std::vector<double> series(samples, 0);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mhz = config.scene.fch1_mhz + static_cast<double>(c) * config.scene.foff_mhz;
    const double delay_s =
        config.dm_constant * dm * (1 / (mhz * mhz) - 1 / (reference * reference));
    const auto shift = static_cast<std::size_t>(std::nearbyint(delay_s / config.scene.tsamp_s));
    for (std::size_t t = 0; t + shift < samples; ++t)
      series[t] += values[(t + shift) * channels + c];
  }
  return series;
}

double energy(const std::vector<double>& series) {
  return std::inner_product(series.begin(), series.end(), series.begin(), 0.0);
}

TEST_F(SimulateFilterbank, PulsesHaveTheSnrWidthAndTimeAskedFor) {
  for (const double foff : {-2.0, 2.0})
    for (const double dm : {0.0, 30.0, 200.0})
      for (const double width_s : {0.0002, 0.004, 0.03}) {
        auto config = config_for();
        config.scene.foff_mhz = foff;
        config.scene.pulses = {pulse_of(dm, 0.70013, width_s, 500)};
        SCOPED_TRACE(testing::Message() << foff << " MHz, DM " << dm << ", " << width_s << " s");
        const auto series = dedispersed(pulses_alone(config), config, dm);
        const double sigma = 16 * std::sqrt(32.0);
        EXPECT_NEAR(std::sqrt(energy(series)) / sigma, 500, 0.5);
        const double sum = std::accumulate(series.begin(), series.end(), 0.0);
        double middle = 0, spread = 0;
        for (std::size_t t = 0; t < series.size(); ++t)
          middle += (static_cast<double>(t) + 0.5) * series[t] / sum;
        // Delays are rounded to samples: their mean error is small, each up to half a sample.
        // And a pulse within one sample has no better place.
        EXPECT_NEAR(middle * 0.0005, 0.70013, dm == 0 && width_s > 0.001 ? 1e-5 : 1.5e-4);
        for (std::size_t t = 0; t < series.size(); ++t)
          spread += std::pow(static_cast<double>(t) + 0.5 - middle, 2) * series[t] / sum;
        if (width_s > 0.001) {
          EXPECT_NEAR(std::sqrt(spread) * 2.35482 * 0.0005, width_s, 0.02 * width_s);
        }
      }
}

TEST_F(SimulateFilterbank, SpectraAndScattering) {
  auto config = config_for();
  config.scene.foff_mhz = -20;
  auto pulse = pulse_of(0, 0.5, 0.004, 2000);
  pulse.spectral_index = -3;
  pulse.scattering_s = 0.01;
  config.scene.pulses = {pulse};
  const auto values = pulses_alone(config);
  const std::size_t samples = values.size() / 32;
  std::vector<double> fluence(32, 0), middle(32, 0);
  for (std::size_t t = 0; t < samples; ++t)
    for (std::size_t c = 0; c < 32; ++c) fluence[c] += values[t * 32 + c];
  for (std::size_t t = 0; t < samples; ++t)
    for (std::size_t c = 0; c < 32; ++c)
      middle[c] += (static_cast<double>(t) + 0.5) * 0.0005 * values[t * 32 + c] / fluence[c];
  for (std::size_t c = 0; c < 32; ++c) {
    const double ratio = (1500. - 20. * static_cast<double>(c)) / 1500;
    EXPECT_NEAR(fluence[c] / fluence[0], std::pow(ratio, -3), 0.01 * std::pow(ratio, -3)) << c;
    // An exponential tail delays the centre by its time constant.
    EXPECT_NEAR(middle[c] - 0.5, 0.01 * std::pow(ratio, -4), 2e-4) << c;
  }
}

TEST_F(SimulateFilterbank, SmearingWidensAsTheChannelsDo) {
  auto config = config_for();
  config.scene.smearing = true;
  config.scene.pulses = {pulse_of(300, 0.3, 0.002, 1000)};
  const auto values = pulses_alone(config);
  // In the lowest channel, 1438 MHz: 2 k DM width / f^3 seconds of a boxcar.
  const double smear_s = 2 * kConstant * 300 * 2 / std::pow(1438, 3);
  double sum = 0, middle = 0, spread = 0;
  const std::size_t samples = values.size() / 32;
  for (std::size_t t = 0; t < samples; ++t) sum += values[t * 32 + 31];
  for (std::size_t t = 0; t < samples; ++t)
    middle += static_cast<double>(t) * values[t * 32 + 31] / sum;
  for (std::size_t t = 0; t < samples; ++t)
    spread += std::pow(static_cast<double>(t) - middle, 2) * values[t * 32 + 31] / sum;
  const double expected =
      std::pow(0.002 / 2.35482, 2) + smear_s * smear_s / 12 + 0.0005 * 0.0005 / 12;
  EXPECT_NEAR(spread * 0.0005 * 0.0005, expected, 0.03 * expected);
}

TEST(PulseDistribution, IsTheIntegralOfItsShape) {
  for (const double sigma : {0.3, 2.0})
    for (const double tau : {0.0, 0.02, 0.5, 3.0, 40.0, 500.0}) {
      // Density of the tail at distance u, convolved with the Gaussian, added up in small steps.
      for (const double x : {-3.0, 0.0, 1.0, 7.5, 60.0}) {
        double expected = 0;
        if (tau == 0) {
          expected = 0.5 * std::erfc(-x / sigma / std::sqrt(2.0));
        } else {
          constexpr int kSteps = 40'000;
          for (int k = 0; k < kSteps; ++k) {
            const double p = (k + 0.5) / kSteps;
            expected +=
                0.5 * std::erfc(-(x + tau * std::log1p(-p)) / sigma / std::sqrt(2.0)) / kSteps;
          }
        }
        // Far shorter tails than the pulse only move it.
        EXPECT_NEAR(simulation::pulse_distribution(x, sigma, tau), expected,
                    tau > 0 && tau < sigma / 50 ? 1e-3 : 1e-4)
            << sigma << " " << tau << " " << x;
      }
    }
}

TEST_F(SimulateFilterbank, NoiseOfEveryDepth) {
  struct Expected {
    int bits;
    double mean, rms;
  };
  // Rounding adds 1/12 to the variance; ends of the range take some off it.
  for (const Expected e : {Expected{8, 96, std::sqrt(256 + 1 / 12.)}, Expected{16, 8192, 1024},
                           Expected{32, 96, 16}, Expected{1, 0.5, 0.5}}) {
    const auto values = make(config_for(e.bits));
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double power = 0;
    for (const double value : values) power += (value - mean) * (value - mean);
    const double rms = std::sqrt(power / static_cast<double>(values.size())),
                 n = static_cast<double>(values.size());
    EXPECT_NEAR(mean, e.mean, 6 * e.rms / std::sqrt(n)) << e.bits;
    EXPECT_NEAR(rms, e.rms, 6 * e.rms / std::sqrt(2 * n) + 0.001 * e.rms) << e.bits;
  }
  for (const int bits : {2, 4}) {
    const auto values = make(config_for(bits));
    EXPECT_EQ(*std::max_element(values.begin(), values.end()), (1 << bits) - 1);
    EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0);
  }
}

TEST_F(SimulateFilterbank, GainsOfTheBand) {
  auto config = config_for(32, 5);
  config.scene.bandpass = {0.5, 1, 0};
  config.duration_s = 20;
  const auto values = make(config);
  for (std::size_t c = 0; c < 5; ++c) {
    double sum = 0, power = 0;
    const auto n = static_cast<double>(values.size() / 5);
    for (std::size_t k = c; k < values.size(); k += 5) sum += values[k];
    for (std::size_t k = c; k < values.size(); k += 5) power += std::pow(values[k] - sum / n, 2);
    const double gain = std::vector<double>{0.5, 0.75, 1, 0.5, 0}[c];
    EXPECT_NEAR(sum / n, 96 * gain, 1);
    EXPECT_NEAR(std::sqrt(power / n), 16 * gain, 0.5);
  }
}

TEST_F(SimulateFilterbank, InterferenceIsWhereItIsAskedFor) {
  auto config = config_for();
  const auto quiet = make(config);
  config.scene.impulses = {{0.5, 0.01, 5}};
  config.scene.carriers = {{1480, 0, 3, 1.0, 0.5, 0, 1}};
  const auto loud = make(config);
  for (std::size_t k = 0; k < quiet.size(); ++k) {
    const double t = static_cast<double>(k / 32) * 0.0005;
    const std::size_t c = k % 32;
    double expected = 0;
    if (t > 0.49999 && t < 0.50999) expected += 5 * 16;
    if (c == 10 && t > 0.99999 && t < 1.49999) expected += 3 * 16;
    ASSERT_NEAR(loud[k] - quiet[k], expected, 0.01) << t << " s, channel " << c;
  }
}

TEST_F(SimulateFilterbank, TheSameSeedGivesTheSameBytes) {
  auto config = config_for(8, 1000);
  config.scene.foff_mhz = -0.3;
  config.scene.pulses = {pulse_of(50, 0.3, 0.01, 50)};
  config.duration_s = 1;
  config.threads = 1;
  const auto one = make(config);
  config.threads = 3;
  config.memory_bytes = std::size_t{4} << 20;
  EXPECT_EQ(make(config), one);
  config.duration_s = 1.5;
  const auto longer = make(config);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), longer.begin()));
  ++config.seed;
  config.duration_s = 1;
  EXPECT_NE(make(config), one);
}

TEST_F(SimulateFilterbank, TheTruthSaysWhatWasMade) {
  auto config = config_for(8);
  config.scene.pulses = {pulse_of(30, 1.00013, 0.004, 25), pulse_of(9000, 1.0, 0.004, 25)};
  config.random_pulses = parse_random_pulses("count=7,dm=10:20,width=0.001:0.002,snr=9");
  config.history = "a history";
  make(config);
  const auto t = truth();
  EXPECT_EQ(t["schema"], "tautline.simulation.filterbank");
  EXPECT_EQ(t["history"], "a history");
  EXPECT_EQ(t["samples"], 4000);
  EXPECT_EQ(t["dm_constant"], kConstant);
  EXPECT_EQ(t["f_ref_mhz"], 1500);
  EXPECT_NEAR(t["summed_rms_steps"].get<double>(), 16 * std::sqrt(32.0), 1e-9);
  ASSERT_EQ(t["pulses"].size(), 9u);
  EXPECT_EQ(t["pulses"][0]["sample"], 2000);
  EXPECT_EQ(t["pulses"][0]["whole"], true);
  EXPECT_EQ(t["pulses"][1]["whole"], false);  // its delay leaves the file
  for (std::size_t k = 2; k < 9; ++k) {
    const auto& p = t["pulses"][k];
    EXPECT_EQ(p["snr"], 9);
    EXPECT_GE(p["dm"], 10);
    EXPECT_LE(p["dm"], 20);
    EXPECT_GE(p["time_s"].get<double>(), 2.0 * static_cast<double>(k - 2) / 7);
    EXPECT_LE(p["time_s"].get<double>(), 2.0 * static_cast<double>(k - 1) / 7);
  }
}

TEST_F(SimulateFilterbank, MemoryIsBoundedWhateverTheDuration) {
  auto config = config_for(8, 64);
  config.output = scratch_ / "m.fil";
  config.overwrite = true;
  config.memory_bytes = std::size_t{8} << 20;
  config.duration_s = 10;
  const auto small = simulate_filterbank(config);
  config.duration_s = 40;
  EXPECT_EQ(simulate_filterbank(config).memory_bytes, small.memory_bytes);
  EXPECT_LE(small.memory_bytes, config.memory_bytes);
  config.memory_bytes = 1000;
  EXPECT_THROW(simulate_filterbank(config), core::Error);
}

TEST_F(SimulateFilterbank, BadScenesAreRefusedByField) {
  const auto refuses = [&](auto change, const std::string& word) {
    auto config = config_for();
    config.output = scratch_ / "bad.fil";
    change(config);
    const core::Error error = tests::error_of([&] { simulate_filterbank(config); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  };
  refuses([](auto& c) { c.scene.channels = 0; }, "channels");
  refuses([](auto& c) { c.scene.fch1_mhz = 0; }, "fch1_mhz");
  refuses([](auto& c) { c.scene.foff_mhz = 0; }, "foff_mhz");
  refuses([](auto& c) { c.scene.foff_mhz = -100; }, "foff_mhz");
  refuses([](auto& c) { c.scene.tsamp_s = 0; }, "tsamp_s");
  refuses([](auto& c) { c.scene.bits = 3; }, "bits");
  refuses([](auto& c) { c.duration_s = 0; }, "duration_s");
  refuses([](auto& c) { c.duration_s = NAN; }, "duration_s");
  refuses([](auto& c) { c.scene.pulses = {pulse_of(-1, 0, 1, 1)}; }, "`pulses`: dm");
  refuses([](auto& c) { c.scene.pulses = {pulse_of(1, 0, 0, 1)}; }, "`pulses`: width");
  refuses([](auto& c) { c.scene.pulses = {pulse_of(1, 0, 1, -1)}; }, "`pulses`: snr");
  refuses(
      [](auto& c) {
        c.scene.bandpass = {0};
        c.scene.pulses = {pulse_of(1, 0, 1, 1)};
      },
      "bandpass");
  refuses([](auto& c) { c.output.clear(); }, "output");
  EXPECT_TRUE(scratch_.empty());
  for (const char* text :
       {"dm=1", "dm=1,time=2,width=3", "dm=x,time=2,width=3,snr=4", "what=1", "dm"})
    EXPECT_THROW(formats::scene::parse_pulse(text), core::Error) << text;
  for (const char* text : {"count=x", "count=-1", "count=3", "dm=5:1", "some=1"})
    EXPECT_THROW(parse_random_pulses(text), core::Error) << text;
  EXPECT_EQ(
      formats::scene::parse_pulse("dm=1,time=2,width=3,snr=4,index=-2,scattering=0.5").scattering_s,
      0.5);
}

TEST(FilterbankScene, FromToml) {
  const auto scene = formats::scene::parse_filterbank_scene(
      "name = \"burst\"\nstart = \"2024-01-02T03:04:05\"\nnchans = 64\nfch1_mhz = 1500\nfoff_mhz = "
      "-1\n"
      "tsamp_s = 1e-3\nnbits = 4\nbandpass = [0.5, 1.0]\nsmearing = true\n"
      "[[pulse]]\ndm = 56.8\ntime_s = 1.5\nwidth_s = 0.01\nsnr = 20\nspectral_index = -2\n"
      "[[impulse]]\ntime_s = 3\nduration_s = 0.1\namplitude = 2\n"
      "[[carrier]]\nfrequency_mhz = 1480\namplitude = 5\n",
      "s.toml");
  EXPECT_EQ(scene.name, "burst");
  EXPECT_EQ(scene.channels, 64u);
  EXPECT_EQ(scene.bits, 4);
  ASSERT_EQ(scene.pulses.size(), 1u);
  EXPECT_EQ(scene.pulses[0].dm, 56.8);
  EXPECT_EQ(scene.pulses[0].spectral_index, -2);
  EXPECT_EQ(scene.impulses.size(), 1u);
  EXPECT_EQ(scene.carriers.at(0).duration_s, -1);
  EXPECT_THROW(formats::scene::parse_filterbank_scene("nchan = 3\n", "s.toml"), core::Error);
  EXPECT_THROW(formats::scene::parse_filterbank_scene("[[pulse]]\ndm = 3\n", "s.toml"),
               core::Error);
}

}  // namespace
}  // namespace tautline::pipeline
