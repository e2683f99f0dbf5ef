#include "tautline/formats/scene/scene.h"

#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tests/support/error_of.h"

namespace tautline::formats::scene {
namespace {

TEST(Scene, HasDefaults) {
  const Scene scene = parse_scene("", "s.toml");
  EXPECT_EQ(scene.bandwidth_hz, (core::Rational{1'280'000, 1}));
  EXPECT_EQ(scene.centre_hz, 154.88e6);
  EXPECT_FALSE(scene.lower_sideband);
  EXPECT_EQ(scene.noise_rms, std::vector<double>{1.0});
  EXPECT_TRUE(scene.sources.empty());
  EXPECT_EQ(core::to_iso(scene.start), "2024-01-01T00:00:00.000000");
}

TEST(Scene, ReadsEveryField) {
  const Scene scene = parse_scene(R"(
name = "two sources"
start = 2013-10-20T01:59:03.5Z
centre_hz = 1_575_420_000
bandwidth_hz = "8.184e6"
sideband = "lower"
noise_rms = [1, 2.5]
rms_steps = 12
[[source]]
name = "A"
ra_deg = 83.6
dec_deg = 22.0
flux = 0.01
spectral_index = -0.8
polarised_fraction = 0.1
polarisation_angle_deg = 45
[[source]]
azimuth_deg = 271
elevation_deg = 30
flux = 1
[[tone]]
frequency_hz = 1576e6
amplitude = [0.5, 0]
phase_deg = 90
[[missing]]
start_s = 1.5
duration_s = 0.25
inputs = [1]
)",
                                  "s.toml");
  EXPECT_EQ(scene.name, "two sources");
  EXPECT_EQ(scene.start, core::parse_utc("2013-10-20T01:59:03.5"));
  EXPECT_EQ(scene.centre_hz, 1575.42e6);
  EXPECT_EQ(scene.bandwidth_hz, (core::Rational{8'184'000, 1}));
  EXPECT_TRUE(scene.lower_sideband);
  EXPECT_EQ(scene.noise_rms, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(scene.rms_steps, 12);
  ASSERT_EQ(scene.sources.size(), 2u);
  EXPECT_EQ(scene.sources[0].name, "A");
  EXPECT_FALSE(scene.sources[0].horizontal);
  EXPECT_EQ(scene.sources[0].dec_deg, 22.0);
  EXPECT_EQ(scene.sources[0].spectral_index, -0.8);
  EXPECT_EQ(scene.sources[0].polarisation_angle_deg, 45);
  EXPECT_TRUE(scene.sources[1].horizontal);
  EXPECT_EQ(scene.sources[1].azimuth_deg, 271);
  EXPECT_EQ(scene.sources[1].name, "source 2");
  EXPECT_EQ(scene.tones.at(0).amplitudes, (std::vector<double>{0.5, 0}));
  EXPECT_EQ(scene.missing.at(0).inputs, std::vector<std::size_t>{1});
  EXPECT_EQ(scene.missing.at(0).duration_s, 0.25);
}

// Every message names the file, the field and what was expected.
TEST(Scene, NamesWhatIsWrong) {
  struct Case {
    const char* text;
    const char* field;
  };
  const Case cases[] = {
      {"flux = 1", "flux (line 1): unknown field"},
      {"centre_hz = \"high\"", "centre_hz (line 1)"},
      {"centre_hz = 1000", "centre_hz (line 1)"},
      {"centre_hz = nan", "centre_hz (line 1)"},
      {"bandwidth_hz = -1", "bandwidth_hz (line 1)"},
      {"bandwidth_hz = 0", "bandwidth_hz (line 1)"},
      {"\nstart = \"yesterday\"", "start (line 2)"},
      {"sideband = \"middle\"", "sideband"},
      {"noise_rms = -1", "noise_rms"},
      {"noise_rms = []", "noise_rms"},
      {"noise_rms = [1, \"x\"]", "noise_rms"},
      {"source = 3", "source"},
      {"[[source]]\nflux = 1", "[[source]] 1: place"},
      {"[[source]]\nra_deg = 1\nflux = 1", "dec_deg"},
      {"[[source]]\nra_deg = 1\ndec_deg = 91\nflux = 1", "dec_deg (line 3)"},
      {"[[source]]\nra_deg = \"11h20m\"\ndec_deg = 9\nflux = 1",
       "ra_deg (line 2): 11h20m, expected degrees, or hh:mm:ss"},
      {"[[source]]\nra_deg = 1\ndec_deg = 9\nazimuth_deg = 1\nflux = 1", "two places"},
      {"[[source]]\nazimuth_deg = 1\nelevation_deg = -3\nflux = 1", "elevation_deg"},
      {"[[source]]\nra_deg = 1\ndec_deg = 9", "flux"},
      {"[[source]]\nra_deg = 1\ndec_deg = 9\nflux = -2", "flux"},
      {"[[source]]\nra_deg = 1\ndec_deg = 9\nflux = 2\npolarised_fraction = 1.5",
       "polarised_fraction"},
      {"[[source]]\nra_deg = 1\ndec_deg = 9\nflux = 2\n[[source]]\nra_deg = 1\ndec_deg = 9\nflx = "
       "2",
       "[[source]] 2: flx"},
      {"[[tone]]\nfrequency_hz = 1e6\namplitude = 1", "frequency_hz"},
      {"[[tone]]\nfrequency_hz = 154.88e6", "amplitude"},
      {"[[missing]]\nstart_s = -1\nduration_s = 1", "start_s"},
      {"[[missing]]\nstart_s = 0\nduration_s = 1\ninputs = [0.5]", "inputs"},
      {"name = ", "line 1"},
  };
  for (const Case& c : cases) {
    try {
      parse_scene(c.text, "s.toml");
      ADD_FAILURE() << "accepted: " << c.text;
    } catch (const core::Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.find("s.toml"), 0u) << what;
      EXPECT_NE(what.find(c.field), std::string::npos) << what;
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
    }
  }
}

TEST(Scene, ReportsAMissingFile) {
  const core::Error error = tests::error_of([&] { read_scene("/nonexistent/scene.toml"); });
  EXPECT_EQ(error.kind(), core::ErrorKind::io);
  EXPECT_THROW(read_scene("/"), core::Error);
}

}  // namespace
}  // namespace tautline::formats::scene
