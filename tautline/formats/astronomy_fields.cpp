#include <numbers>

#include "tautline/formats/astronomy.h"

namespace tautline::formats {

namespace {

constexpr double kRadPerArcsec = std::numbers::pi / (180 * 3600);

std::string pole_text(const EarthOrientation& earth) {
  return core::text::write_number(earth.pole_x_rad / kRadPerArcsec) + "," +
         core::text::write_number(earth.pole_y_rad / kRadPerArcsec);
}

void set_pole(EarthOrientation& earth, const std::string& text) {
  const auto pole = core::text::read<std::vector<double>>(text);
  if (pole.size() != 2 || !core::text::holds(core::between(-1, 1), pole))
    core::text::refuse(text, "two numbers, each -1 to 1");
  earth.pole_x_rad = pole[0] * kRadPerArcsec;
  earth.pole_y_rad = pole[1] * kRadPerArcsec;
}

}  // namespace

const core::Fields<EarthOrientation>& fields(const EarthOrientation&) {
  static const auto all =
      core::Fields<EarthOrientation>()
          .add({.name = "ut1_minus_utc_s", .unit = "s", .help = "UT1 - UTC", .option = "ut1-utc"},
               &EarthOrientation::ut1_minus_utc_s, core::between(-0.9, 0.9))
          .add_text({.name = "pole",
                     .unit = "arcsec",
                     .help = "the pole's x,y in arc seconds, each -1 to 1",
                     .form = "X,Y"},
                    pole_text, set_pole);
  return all;
}

}  // namespace tautline::formats
