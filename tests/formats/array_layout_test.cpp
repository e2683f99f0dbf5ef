#include "tautline/formats/array_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tautline/core/error.h"
#include "tautline/formats/astronomy.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace tautline::formats {
namespace {

const std::string kPlace = "latitude_deg = -30\nlongitude_deg = 20\naltitude_m = 1000\n";

ArrayLayout parse(const std::string& text) {
  const tests::ScratchFolder folder;
  const std::string path = folder / "array.toml";
  std::ofstream(path) << text;
  return read_array_layout(path);
}

TEST(ArrayLayout, ReadsEveryField) {
  const ArrayLayout array = parse(R"(
name = "Pair"
latitude_deg = -30
longitude_deg = 20.5
altitude_m = 1000.0
inputs = [[12, "y"], [7, "x"], [12, "x"]]
[[antenna]]
number = 12
name = "north"
enu_m = [0, 100, 0.5]
diameter_m = 25
mount_type = "alt-az"
feed_angle_deg = 45
[[antenna]]
number = 7
enu_m = [0.0, 0.0, 0.0]
feeds = ["x"]
)");
  EXPECT_EQ(array.name, "Pair");
  EXPECT_EQ(array.longitude_deg, 20.5);
  ASSERT_EQ(array.antennas.size(), 2u);
  EXPECT_EQ(array.antennas[0].number, 12);
  EXPECT_EQ(array.antennas[0].name, "north");
  EXPECT_EQ(array.antennas[0].diameter_m, 25);
  EXPECT_EQ(array.antennas[0].mount_type, "alt-az");
  EXPECT_EQ(array.antennas[0].feed_angle_deg, 45);
  EXPECT_EQ(array.antennas[1].name, "ant7");
  EXPECT_EQ(array.antennas[1].mount_type, "fixed");
  EXPECT_EQ(array.antennas[1].feeds, std::vector<char>{'x'});
  ASSERT_EQ(array.inputs.size(), 3u);
  EXPECT_EQ(array.inputs[0].antenna, 0u);
  EXPECT_EQ(array.inputs[0].feed, 'y');
  EXPECT_EQ(array.inputs[1].antenna, 1u);
  EXPECT_EQ(array.inputs[2].feed, 'x');
  EXPECT_TRUE(array.positions_known);

  const Vector3 north = ecef_to_enu(antenna_offset_m(array, 0), site_of(array));
  EXPECT_NEAR(north[0], 0, 1e-9);
  EXPECT_NEAR(north[1], 100, 1e-8);
  EXPECT_NEAR(north[2], 0.5, 1e-8);
}

TEST(ArrayLayout, InputsDefaultToAntennaSlowFeedFast) {
  const ArrayLayout array = parse(
      kPlace + "[[antenna]]\nenu_m=[1,2,3]\n[[antenna]]\nenu_m=[4,5,6]\nfeeds=[\"y\",\"x\"]\n");
  ASSERT_EQ(array.inputs.size(), 4u);
  EXPECT_EQ(array.antennas[1].number, 1);
  const std::string feeds{array.inputs[0].feed, array.inputs[1].feed, array.inputs[2].feed,
                          array.inputs[3].feed};
  EXPECT_EQ(feeds, "xyyx");
  EXPECT_EQ(array.inputs[1].antenna, 0u);
  EXPECT_EQ(array.inputs[2].antenna, 1u);
}

// Greenwich's meridian at the equator: east is +y, north is +z, up is +x.
TEST(ArrayLayout, EnuAndEcefAgree) {
  const ArrayLayout enu = parse("latitude_deg=0\nlongitude_deg=0\n[[antenna]]\nenu_m=[10,20,30]\n");
  EXPECT_NEAR(enu.antennas[0].ecef_m[0], 6378137 + 30, 1e-8);
  EXPECT_NEAR(enu.antennas[0].ecef_m[1], 10, 1e-8);
  EXPECT_NEAR(enu.antennas[0].ecef_m[2], 20, 1e-8);

  const ArrayLayout ecef =
      parse("[[antenna]]\necef_m=[6378137,0,-100]\n[[antenna]]\necef_m=[6378137.0,0,100]\n");
  EXPECT_NEAR(ecef.latitude_deg, 0, 1e-9);
  EXPECT_NEAR(ecef.longitude_deg, 0, 1e-9);
  EXPECT_NEAR(ecef.altitude_m, 0, 1e-6);
}

TEST(ArrayLayout, NamesTheFieldThatIsWrong) {
  const std::string antenna = "[[antenna]]\nenu_m = [0, 0, 0]\n";
  const struct {
    std::string text, field;
  } cases[] = {
      {"name = 3\n" + kPlace + antenna, "name"},
      {"latitude_deg = 91\nlongitude_deg = 0\n" + antenna, "latitude_deg"},
      {"latitude_deg = nan\nlongitude_deg = 0\n" + antenna, "latitude_deg"},
      {"latitude_deg = \"north\"\nlongitude_deg = 0\n" + antenna, "latitude_deg"},
      {"latitude_deg = 1\n" + antenna, "longitude_deg"},
      {"altitude_m = 1\n" + antenna, "latitude_deg"},
      {antenna, "[[antenna]] 1: enu_m"},
      {kPlace, "antenna"},
      {kPlace + "antenna = []\n", "antenna"},
      {kPlace + "antenna = [1]\n", "antenna"},
      {kPlace + "[[antenna]]\n", "[[antenna]] 1: enu_m"},
      {kPlace + "[[antenna]]\nenu_m = [0, 0]\n", "[[antenna]] 1: enu_m"},
      {kPlace + "[[antenna]]\nenu_m = [0, 0, inf]\n", "[[antenna]] 1: enu_m"},
      {kPlace + "[[antenna]]\nenu_m = [0, 0, 0]\necef_m = [6378137, 0, 0]\n",
       "[[antenna]] 1: enu_m"},
      {kPlace + "[[antenna]]\necef_m = [1, 2, 3]\n", "[[antenna]] 1: ecef_m"},
      {kPlace + antenna + "number = -1\n", "[[antenna]] 1: number"},
      {kPlace + antenna + "number = 1.5\n", "[[antenna]] 1: number"},
      {kPlace + antenna + "number = 5\n" + antenna + "number = 5\n", "[[antenna]] 2: number"},
      {kPlace + antenna + "name = \"a\"\n" + antenna + "name = \"a\"\n", "[[antenna]] 2: name"},
      {kPlace + antenna + "diameter_m = -1\n", "[[antenna]] 1: diameter_m"},
      {kPlace + antenna + "mount_type = \"hexapod\"\n", "[[antenna]] 1: mount_type"},
      {kPlace + antenna + "feeds = []\n", "[[antenna]] 1: feeds"},
      {kPlace + antenna + "feeds = [\"x\", \"x\"]\n", "[[antenna]] 1: feeds"},
      {kPlace + antenna + "feeds = [\"r\"]\n", "[[antenna]] 1: feeds"},
      {kPlace + antenna + "hight_m = 3\n", "[[antenna]] 1: hight_m"},
      {"nmae = \"x\"\n" + kPlace + antenna, "nmae"},
      {"inputs = 3\n" + kPlace + antenna, "inputs"},
      {"inputs = []\n" + kPlace + antenna, "inputs"},
      {"inputs = [[0]]\n" + kPlace + antenna, "inputs"},
      {"inputs = [[0, \"x\"], [1, \"x\"]]\n" + kPlace + antenna, "inputs"},
      {"inputs = [[0, \"x\"], [0, \"x\"]]\n" + kPlace + antenna, "inputs"},
      {"inputs = [[0, \"y\"]]\n" + kPlace + antenna + "feeds = [\"x\"]\n", "inputs"},
  };
  for (const auto& c : cases) {
    const core::Error error = tests::error_of([&] { parse(c.text); });
    EXPECT_EQ(error.kind(), core::ErrorKind::format) << c.text;
    // The line follows where the field is there.
    const std::string named = error.field().substr(0, error.field().find(" (line"));
    EXPECT_TRUE(named.ends_with("array.toml: " + c.field))
        << error.what() << " should name " << c.field;
  }
}

TEST(ArrayLayout, SaysWhereTheTomlIsBroken) {
  const core::Error error = tests::error_of([&] { parse("name = \"x\"\nlatitude_deg = = 3\n"); });
  EXPECT_EQ(error.kind(), core::ErrorKind::format);
  EXPECT_TRUE(error.field().ends_with("line 2")) << error.what();
  try {
    read_array_layout("/nonexistent/array.toml");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.kind(), core::ErrorKind::io);
  }
}

TEST(ArrayLayout, AnUnknownArrayHasItsInputsAndNoPositions) {
  const ArrayLayout array = unknown_array(3, 2);
  EXPECT_FALSE(array.positions_known);
  EXPECT_EQ(array.inputs.size(), 6u);
  EXPECT_EQ(array.inputs[3].antenna, 1u);
  EXPECT_EQ(array.inputs[3].feed, 'y');
  EXPECT_EQ(antenna_offset_m(array, 2), (Vector3{0, 0, 0}));
  EXPECT_EQ(unknown_array(2, 1).inputs.size(), 2u);
  EXPECT_THROW(unknown_array(0, 1), core::Error);
  EXPECT_THROW(unknown_array(1, 3), core::Error);
  EXPECT_NO_THROW(require_inputs(array, 6));
  EXPECT_THROW(require_inputs(array, 5), core::Error);
}

TEST(ArrayLayout, OfHalfTheInputsAskForPolarisations) {
  const ArrayLayout array = unknown_array(4, 1);
  const auto hint = [&](std::size_t inputs) -> std::string {
    try {
      require_inputs(array, inputs);
      return "";
    } catch (const core::Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(hint(8).find("say so with `antennas` and `polarisations`"), std::string::npos)
      << hint(8);
  EXPECT_EQ(hint(5).find("`polarisations`"), std::string::npos) << hint(5);
}

// Four antennas of one feed are as many inputs as two of two.
TEST(ArrayLayout, OfOtherAntennasThanTheDataIsRefused) {
  ArrayLayout array = unknown_array(4, 1);
  array.positions_known = true;
  const std::string what = tests::error_of([&] { require_antennas(array, 2, 2); }).what();
  EXPECT_NE(what.find("antennas of array unknown: 4, expected 2, of two polarisations each"),
            std::string::npos)
      << what;
  EXPECT_NO_THROW(require_antennas(array, 4, 1));
  EXPECT_NO_THROW(require_antennas(array, 4, 2));
  array.inputs_listed = true;
  EXPECT_NO_THROW(require_antennas(array, 2, 2));
}

TEST(ArrayLayout, ReadsTart) {
  const std::string path = std::string(TAUTLINE_DATA_DIR) + "/tart/array.toml";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is absent";
  const ArrayLayout array = read_array_layout(path);
  EXPECT_EQ(array.name, "TART-1");
  ASSERT_EQ(array.antennas.size(), 5u);
  EXPECT_EQ(array.antennas[3].name, "A3");
  const Vector3 enu = ecef_to_enu(antenna_offset_m(array, 3), site_of(array));
  EXPECT_NEAR(enu[0], 0.374606593415912, 1e-8);
  EXPECT_NEAR(enu[1], -0.9271838545667874, 1e-8);
}

}  // namespace
}  // namespace tautline::formats
