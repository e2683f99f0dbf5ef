// The phases that a correlator finds in simulated voltages, against the geometry.
#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tests/pipeline/simulated.h"
#include "tests/support/seed.h"

namespace tautline {
namespace {

using tests::array_at;
using tests::ScratchFolder;

constexpr double kDeg = 180 / std::numbers::pi;

// x_i conj(x_j) of a source at the antennas' arrival delays: exp(-2 pi i f (tau_i - tau_j)).
double expected_phase_deg(const formats::ArrayLayout& array, const formats::scene::Source& source,
                          const core::Instant& time, std::size_t i, std::size_t j, double f_hz) {
  const auto place =
      formats::apparent_place(source.ra_deg, source.dec_deg, time, formats::site_of(array));
  const auto tau = [&](std::size_t antenna) {
    return formats::arrival_delay_s(formats::antenna_offset_m(array, antenna), place.axes);
  };
  return -360 * std::remainder(f_hz * (tau(i) - tau(j)), 1.0);
}

struct Case {
  bool real, lower;
  double centre_hz;
};

class SimulatedPhase : public testing::TestWithParam<Case> {};

// Without noise, two antennas hear the same signal: each channel's phase must be the geometry's,
// within what a finite run scatters. Three channels are left out at each end, where the window of
// the test's own transform reaches over the edge to the other end of a complex band, or to a real
// band's mirror image.
TEST_P(SimulatedPhase, FollowsTheGeometryInEveryChannel) {
  const Case& c = GetParam();
  const auto array = array_at({{0, 0, 0}, {143.2, -61.7, 2.1}, {-88.8, 190.4, -1.5}}, "x");
  formats::scene::Scene scene = formats::scene::parse_scene(R"(
start = "2024-03-20T12:34:56.789"
noise_rms = 0
[[source]]
ra_deg = 130.0
dec_deg = -47.0
flux = 1
)",
                                                            "test");
  scene.centre_hz = c.centre_hz;
  scene.lower_sideband = c.lower;
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.real = c.real;
  config.bits = 16;
  config.duration_s = 0.1;
  config.seed = tests::seed();
  pipeline::simulate_voltages(config, array, scene);

  const auto voltages = tests::read_dada(config.output, 3, 16, c.real);
  const std::size_t samples = voltages.inputs[0].size();
  ASSERT_EQ(samples, c.real ? 256000u : 128000u);
  const core::Instant middle = core::advance_half(scene.start, static_cast<std::int64_t>(samples),
                                                  {c.real ? 2560000 : 1280000, 1});
  constexpr std::size_t kChannels = 64, kEdge = 3;
  for (const auto& [i, j] : {std::pair<std::size_t, std::size_t>{1, 0}, {2, 0}, {2, 1}}) {
    const auto spectrum = tests::cross_spectrum(voltages, i, j, kChannels, c.lower, 0, samples);
    for (std::size_t k = kEdge; k <= kChannels - kEdge; ++k) {
      const double expected = expected_phase_deg(array, scene.sources[0], middle, i, j,
                                                 tests::channel_hz(scene, c.real, kChannels, k));
      EXPECT_LT(tests::degrees_apart(std::arg(spectrum[k]) * kDeg, expected), 0.3)
          << "baseline " << i << "-" << j << " channel " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSampling, SimulatedPhase,
                         testing::Values(Case{false, false, 154.88e6}, Case{false, true, 154.88e6},
                                         Case{true, false, 154.88e6}, Case{true, true, 154.88e6},
                                         Case{false, false, 1420.4e6},
                                         Case{true, true, 1575.42e6}));

// The fringes of a kilometre at 408 MHz turn more than once in a minute.
TEST(SimulatedFringe, TurnsWithTheEarth) {
  const auto array = array_at({{0, 0, 0}, {950, 310, 5}}, "x");
  const formats::scene::Scene scene = formats::scene::parse_scene(R"(
start = "2024-03-20T12:00:00"
centre_hz = 408e6
bandwidth_hz = 20e3
noise_rms = 0
[[source]]
azimuth_deg = 100
elevation_deg = 55
flux = 1
)",
                                                                  "test");
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  config.bits = 16;
  config.duration_s = 60;
  config.seed = tests::seed();
  pipeline::simulate_voltages(config, array, scene);
  const auto voltages = tests::read_dada(config.output, 2, 16, false);

  // The place in the ICRS from azimuth and elevation at the start: by another way than the
  // simulator's, a search from its own place.
  const formats::Site site = formats::site_of(array);
  const formats::Vector3 enu{std::sin(100 / kDeg) * std::cos(55 / kDeg),
                             std::cos(100 / kDeg) * std::cos(55 / kDeg), std::sin(55 / kDeg)};
  const formats::Vector3 at_start = formats::enu_to_ecef(enu, site);
  constexpr double kOmega = 7.292115e-5;
  // A direction fixed in the sky turns westward about the earth's axis.
  const auto turns_at = [&](double seconds) {
    const double angle = -kOmega * seconds;
    const formats::Vector3 w{at_start[0] * std::cos(angle) - at_start[1] * std::sin(angle),
                             at_start[0] * std::sin(angle) + at_start[1] * std::cos(angle),
                             at_start[2]};
    const double tau =
        -formats::dot(formats::antenna_offset_m(array, 1), w) / core::kSpeedOfLight_m_per_s;
    return -408e6 * tau;
  };
  constexpr std::size_t kParts = 12, kLength = 100000;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::complex<double> sum = 0;
    for (std::size_t t = part * kLength; t < (part + 1) * kLength; ++t)
      sum += voltages.inputs[1][t] * std::conj(voltages.inputs[0][t]) *
             std::polar(1.0, -2 * std::numbers::pi * turns_at(static_cast<double>(t) / 20e3));
    EXPECT_LT(std::abs(std::arg(sum)) * kDeg, 0.1) << "part " << part;
  }
  EXPECT_GT(std::abs(turns_at(60) - turns_at(0)), 1.0)
      << "the fringe must turn for this test to mean anything";
}

TEST(SimulatedFringe, RefusesWhatItsBlocksCannotHold) {
  const auto array = array_at({{0, 0, 0}, {5e6, 0, 0}}, "x");
  const auto scene = formats::scene::parse_scene(
      "centre_hz = 22e9\n[[source]]\nazimuth_deg = 0\nelevation_deg = 80\nflux = 1", "test");
  const ScratchFolder folder;
  pipeline::SimulateConfig config;
  config.output = folder / "v.dada";
  EXPECT_THROW(pipeline::simulate_voltages(config, array, scene), core::Error);
  EXPECT_TRUE(folder.empty());
}

}  // namespace
}  // namespace tautline
