#include "tautline/formats/astronomy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

using std::numbers::pi;
constexpr double kRadPerDeg = pi / 180;
constexpr double kArcsecond = kRadPerDeg / 3600;

Site random_site(std::mt19937_64& random) {
  std::uniform_real_distribution<double> longitude(-pi, pi), latitude(-1.5, 1.5), height(0, 5000);
  return {longitude(random), latitude(random), height(random)};
}

core::Instant random_time(std::mt19937_64& random) {
  const core::Instant start = core::parse_utc("2000-01-02-00:00:00");
  return core::advance(start, std::uniform_int_distribution<std::int64_t>(0, 8'000'000'000)(random),
                       {10, 1});
}

TEST(Astronomy, PositionsOnTheEllipsoid) {
  const Vector3 pole = ecef_m({0, pi / 2, 100});
  EXPECT_NEAR(pole[2], 6356752.314245 + 100, 1e-5);
  auto random = tests::generator();
  for (int n = 0; n < 20; ++n) {
    const Site site = random_site(random);
    const Site back = site_at(ecef_m(site));
    EXPECT_NEAR(back.latitude_rad, site.latitude_rad, 1e-12);
    EXPECT_NEAR(back.altitude_m, site.altitude_m, 1e-6);
    const Vector3 enu{3, -4, 5}, there = ecef_to_enu(enu_to_ecef(enu, site), site);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(there[k], enu[k], 1e-12);
    // Up by one metre is one metre of altitude.
    const Vector3 up = enu_to_ecef({0, 0, 1}, site), centre = ecef_m(site);
    EXPECT_NEAR(site_at({centre[0] + up[0], centre[1] + up[1], centre[2] + up[2]}).altitude_m,
                site.altitude_m + 1, 1e-6);
  }
  EXPECT_THROW(site_at({0, 0, 0}), core::Error);
}

// Greenwich mean sidereal time in seconds, IAU 1982, an independent series:
//   24110.54841 + 8640184.812866 T + 0.093104 T^2 at 0h UT1, then 1.002737909350795 s a second.
// Apparent time differs by the equation of the equinoxes, under 1.2 s.
TEST(Astronomy, SiderealTime) {
  auto random = tests::generator();
  for (int n = 0; n < 50; ++n) {
    const Site site = random_site(random);
    const core::Instant time = random_time(random);
    const double days = core::seconds_between(core::parse_utc("2000-01-01-12:00:00"), time) / 86400;
    const double midnight = std::floor(days + 0.5) - 0.5, t = midnight / 36525;
    const double gmst = 24110.54841 + 8640184.812866 * t + 0.093104 * t * t +
                        (days - midnight) * 86400 * 1.002737909350795;
    const double expected = gmst / 86400 * 2 * pi + site.longitude_rad;
    const double error = std::remainder(sidereal_time_rad(time, site) - expected, 2 * pi);
    EXPECT_NEAR(error, 0, 1.3 / 86400 * 2 * pi);
  }
}

TEST(Astronomy, Ut1TurnsTheEarth) {
  const core::Instant time = core::parse_utc("2021-06-01-00:00:00");
  const double turned = sidereal_time_rad(time, {}, {0.5, 0, 0}) - sidereal_time_rad(time, {});
  EXPECT_NEAR(turned, 0.5 * 1.0027379 / 86400 * 2 * pi, 1e-11);
}

// The second before a leap second is one of UT1 from the next day's first, as everywhere: a day
// that ends with one has 86,401 seconds.
TEST(Astronomy, DaysWithALeapSecondAreLonger) {
  for (const char* next_day : {"2009-01-01-00:00:00", "2017-01-01-00:00:00"}) {
    const core::Instant end = core::parse_utc(next_day);
    // Nutation moves by 2e-7 in half a day; a second is 7e-5.
    for (const std::int64_t before_s : {1, 10, 43'200}) {
      const core::Instant time = core::advance(end, -before_s, {1, 1});
      const double turned =
          std::remainder(sidereal_time_rad(end, {}) - sidereal_time_rad(time, {}), 2 * pi);
      const double expected = static_cast<double>(before_s) * 1.0027379 / 86400 * 2 * pi;
      EXPECT_NEAR(std::remainder(turned - expected, 2 * pi), 0, 1e-6) << before_s;
    }
  }
}

// Right ascension and declination of date by rigorous precession angles (Lieske 1977), without
// nutation and aberration, which amount to less than 40 arc seconds.
TEST(Astronomy, ApparentPlaceFollowsPrecession) {
  auto random = tests::generator();
  for (int n = 0; n < 50; ++n) {
    const double ra = std::uniform_real_distribution<double>(0, 360)(random);
    const double dec = std::uniform_real_distribution<double>(-70, 70)(random);
    const core::Instant time = random_time(random);
    const double t =
        core::seconds_between(core::parse_utc("2000-01-01-12:00:00"), time) / 86400 / 36525;
    const double zeta = (2306.2181 * t + 0.30188 * t * t) * kArcsecond;
    const double z = (2306.2181 * t + 1.09468 * t * t) * kArcsecond;
    const double theta = (2004.3109 * t - 0.42665 * t * t) * kArcsecond;
    const double a = ra * kRadPerDeg + zeta, d = dec * kRadPerDeg;
    const double A = std::cos(d) * std::sin(a);
    const double B = std::cos(theta) * std::cos(d) * std::cos(a) - std::sin(theta) * std::sin(d);
    const double C = std::sin(theta) * std::cos(d) * std::cos(a) + std::cos(theta) * std::sin(d);
    const ApparentPlace place = apparent_place(ra, dec, time, random_site(random));
    EXPECT_NEAR(place.declination_rad, std::asin(C), 40 * kArcsecond);
    EXPECT_NEAR(
        std::remainder(place.right_ascension_rad - std::atan2(A, B) - z, 2 * pi) * std::cos(d), 0,
        45 * kArcsecond);
  }
}

TEST(Astronomy, AxesAreRightHandedAndPointAtTheSource) {
  auto random = tests::generator();
  for (int n = 0; n < 50; ++n) {
    const Site site = random_site(random);
    const core::Instant time = random_time(random);
    const double ra = std::uniform_real_distribution<double>(0, 360)(random);
    const double dec = std::uniform_real_distribution<double>(-89.9, 89.9)(random);
    const ApparentPlace p = apparent_place(ra, dec, time, site);
    const auto& [u, v, w] = p.axes;
    EXPECT_NEAR(dot(u, u), 1, 1e-12);
    EXPECT_NEAR(dot(u, v), 0, 1e-12);
    EXPECT_NEAR(dot(v, w), 0, 1e-12);
    const Vector3 cross{u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                        u[0] * v[1] - u[1] * v[0]};
    EXPECT_NEAR(dot(cross, w), 1, 1e-12);
    // Elevation from the axes and from the spherical triangle of hour angle and declination.
    const double hour_angle = p.sidereal_time_rad - p.right_ascension_rad;
    EXPECT_NEAR(
        dot(w, zenith_place(time, site).axes.w),
        std::sin(site.latitude_rad) * std::sin(p.declination_rad) +
            std::cos(site.latitude_rad) * std::cos(p.declination_rad) * std::cos(hour_angle),
        1e-12);
    // The frame's north is where an ICRS direction a little further north is seen. Aberration
    // changes that by 1e-4, and the Sun's gravity by more within half a degree of it: it is never
    // beyond a declination of 24 degrees.
    const double step = 1e-3;
    if (std::abs(dec) > 70 || std::abs(dec) < 26) continue;
    const ApparentPlace north = apparent_place(ra, dec + step, time, site);
    const Vector3 towards = difference(north.axes.w, w);
    EXPECT_NEAR(dot(towards, v) / (step * kRadPerDeg), 1, 5e-4);
    EXPECT_NEAR(dot(towards, u) / (step * kRadPerDeg), 0, 5e-4);
  }
}

TEST(Astronomy, ZenithComesBack) {
  auto random = tests::generator();
  for (int n = 0; n < 20; ++n) {
    const Site site = random_site(random);
    const core::Instant time = random_time(random);
    const ApparentPlace zenith = zenith_place(time, site);
    const SkyDirection sky = icrs_direction(zenith, time, site);
    const ApparentPlace back =
        apparent_place(sky.right_ascension_deg, sky.declination_deg, time, site);
    EXPECT_NEAR(dot(back.axes.w, zenith.axes.w), 1, 1e-14);  // rounding has sums of a few 1e-16
    EXPECT_NEAR(back.declination_rad, zenith.declination_rad, 1e-9);
  }
}

TEST(Astronomy, ANearerAntennaHearsTheWaveFirst) {
  const core::Instant time = core::parse_utc("2021-06-01-00:00:00");
  const Site site{0.3, -0.5, 200};
  const ProjectionAxes zenith = zenith_place(time, site).axes;
  EXPECT_NEAR(arrival_delay_s(enu_to_ecef({0, 0, 1}, site), zenith),
              -1 / core::kSpeedOfLight_m_per_s, 1e-20);
  // A source rising in the east reaches the eastern antenna first.
  for (double ra = 0; ra < 360; ra += 7) {
    const ApparentPlace p = apparent_place(ra, 0, time, site);
    const double hour_angle = std::remainder(p.sidereal_time_rad - p.right_ascension_rad, 2 * pi);
    const double delay = arrival_delay_s(enu_to_ecef({1000, 0, 0}, site), p.axes);
    if (hour_angle < -0.1 && hour_angle > -3) {
      EXPECT_LT(delay, 0);
    } else if (hour_angle > 0.1 && hour_angle < 3) {
      EXPECT_GT(delay, 0);
    }
  }
}

}  // namespace
}  // namespace tautline::formats
