#include "tautline/formats/astronomy.h"

#include <erfa.h>
#include <erfam.h>

#include <cmath>
#include <cstddef>
#include <numbers>

#include "tautline/core/error.h"
#include "tautline/core/units.h"

namespace tautline::formats {
namespace {

using std::numbers::pi;

constexpr double kUnixEpochJd = 2440587.5;
constexpr std::int64_t kSecondsPerDay = 86400;
// The frame's north is taken over an arc of one degree, half of it to each side, as pyuvdata does.
constexpr double kFrameArc_rad = pi / 360.0;

// ERFA's two-part Julian dates: whole days first, so that nothing is lost.
struct Dates {
  double utc1, utc2, ut11, ut12, tt1, tt2;
};

Dates dates_of(const core::Instant& time, const EarthOrientation& earth) {
  std::int64_t day = time.seconds / kSecondsPerDay;
  if (time.seconds % kSecondsPerDay < 0) --day;
  // In whole numbers, so that no time of the last minute is rounded into the next hour.
  const auto second_of_day = static_cast<int>(time.seconds - day * kSecondsPerDay);
  const int hours = second_of_day / 3600, minutes = second_of_day / 60 % 60;
  const double second =
      static_cast<double>(second_of_day % 60) +
      static_cast<double>(time.fraction_numerator) / static_cast<double>(time.fraction_denominator);
  Dates d{};
  int year = 0, month = 0, day_of_month = 0;
  double fraction = 0, tai1 = 0, tai2 = 0;
  // ERFA's days are as long as UTC's: one that ends with a leap second is cut into 86,401. All
  // return +1 for years outside the table of leap seconds, and a usable result with it.
  if (eraJd2cal(kUnixEpochJd, static_cast<double>(day), &year, &month, &day_of_month, &fraction) <
          0 ||
      eraDtf2d("UTC", year, month, day_of_month, hours, minutes, second, &d.utc1, &d.utc2) < 0 ||
      eraUtctai(d.utc1, d.utc2, &tai1, &tai2) < 0 ||
      eraUtcut1(d.utc1, d.utc2, earth.ut1_minus_utc_s, &d.ut11, &d.ut12) < 0)
    throw core::Error(core::ErrorKind::config, "time", core::to_iso(time), "a date in UTC");
  eraTaitt(tai1, tai2, &d.tt1, &d.tt2);
  return d;
}

// Of the true equator and equinox: right ascension here minus that from the CIO.
double equation_of_the_origins(const Dates& d) {
  double matrix[3][3], x = 0, y = 0;
  eraPnm06a(d.tt1, d.tt2, matrix);
  eraBpn2xy(matrix, &x, &y);
  return eraEors(matrix, eraS06(d.tt1, d.tt2, x, y));
}

double local_sidereal_time(const Dates& d, const Site& site) {
  return eraAnp(eraGst06a(d.ut11, d.ut12, d.tt1, d.tt2) + eraSp00(d.tt1, d.tt2) +
                site.longitude_rad);
}

struct Angles {
  double longitude_rad, latitude_rad;
};

Angles to_icrs(double right_ascension_rad, double declination_rad, const Dates& d, const Site& site,
               const EarthOrientation& earth) {
  Angles icrs{};
  eraAtoc13("R", right_ascension_rad + equation_of_the_origins(d), declination_rad, d.utc1, d.utc2,
            earth.ut1_minus_utc_s, site.longitude_rad, site.latitude_rad, site.altitude_m,
            earth.pole_x_rad, earth.pole_y_rad, 0, 0, 0, 0, &icrs.longitude_rad,
            &icrs.latitude_rad);
  return icrs;
}

// A step of `arc` in declination, over the pole if need be.
Angles step_north(double right_ascension_rad, double declination_rad, double arc) {
  Angles p{right_ascension_rad, declination_rad + arc};
  if (p.latitude_rad > pi / 2) return {eraAnp(p.longitude_rad + pi), pi - p.latitude_rad};
  if (p.latitude_rad < -pi / 2) return {eraAnp(p.longitude_rad + pi), -pi - p.latitude_rad};
  return p;
}

// Axes at Greenwich hour angle H and declination d, turned by the angle p of the frame's north:
//   w = (cos d cos H, -cos d sin H, sin d)
//   e = (sin H, cos H, 0),  n = (-sin d cos H, sin d sin H, cos d)
//   u = e cos p - n sin p,  v = e sin p + n cos p
ProjectionAxes axes_at(double hour_angle_rad, double declination_rad, double position_angle_rad) {
  const double sh = std::sin(hour_angle_rad), ch = std::cos(hour_angle_rad);
  const double sd = std::sin(declination_rad), cd = std::cos(declination_rad);
  const double sp = std::sin(position_angle_rad), cp = std::cos(position_angle_rad);
  const Vector3 east{sh, ch, 0}, north{-sd * ch, sd * sh, cd};
  ProjectionAxes axes;
  axes.w = {cd * ch, -cd * sh, sd};
  for (std::size_t k = 0; k < 3; ++k) {
    axes.u[k] = east[k] * cp - north[k] * sp;
    axes.v[k] = east[k] * sp + north[k] * cp;
  }
  return axes;
}

ProjectionAxes enu_axes(const Site& site) {
  return axes_at(-site.longitude_rad, site.latitude_rad, 0);
}

}  // namespace

double dot(const Vector3& a, const Vector3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Vector3 difference(const Vector3& a, const Vector3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

Site site_of(const ArrayLayout& array) {
  return {array.longitude_deg * core::kRadPerDeg, array.latitude_deg * core::kRadPerDeg,
          array.altitude_m};
}

Vector3 ecef_m(const Site& site) {
  Vector3 xyz{};
  eraGd2gc(ERFA_WGS84, site.longitude_rad, site.latitude_rad, site.altitude_m, xyz.data());
  return xyz;
}

Site site_at(const Vector3& ecef_m) {
  if (dot(ecef_m, ecef_m) == 0)
    throw core::Error(core::ErrorKind::config, "ecef_m", "[0, 0, 0]",
                      "a position from the earth's centre in metres");
  Vector3 xyz = ecef_m;
  Site site;
  eraGc2gd(ERFA_WGS84, xyz.data(), &site.longitude_rad, &site.latitude_rad, &site.altitude_m);
  return site;
}

Vector3 enu_to_ecef(const Vector3& enu_m, const Site& site) {
  const ProjectionAxes axes = enu_axes(site);
  Vector3 ecef{};
  for (std::size_t k = 0; k < 3; ++k)
    ecef[k] = enu_m[0] * axes.u[k] + enu_m[1] * axes.v[k] + enu_m[2] * axes.w[k];
  return ecef;
}

Vector3 ecef_to_enu(const Vector3& ecef_m, const Site& site) {
  return uvw_m(enu_axes(site), ecef_m);
}

Vector3 antenna_offset_m(const ArrayLayout& array, std::size_t antenna) {
  return difference(array.antennas[antenna].ecef_m, ecef_m(site_of(array)));
}

double sidereal_time_rad(const core::Instant& time, const Site& site,
                         const EarthOrientation& earth) {
  return local_sidereal_time(dates_of(time, earth), site);
}

Vector3 uvw_m(const ProjectionAxes& axes, const Vector3& baseline_ecef_m) {
  return {dot(axes.u, baseline_ecef_m), dot(axes.v, baseline_ecef_m), dot(axes.w, baseline_ecef_m)};
}

ApparentPlace apparent_place(double right_ascension_deg, double declination_deg,
                             const core::Instant& time, const Site& site,
                             const EarthOrientation& earth) {
  const Dates d = dates_of(time, earth);
  ApparentPlace place;
  double azimuth = 0, zenith_distance = 0, hour_angle = 0, cio_right_ascension = 0, origins = 0;
  eraAtco13(right_ascension_deg * core::kRadPerDeg, declination_deg * core::kRadPerDeg, 0, 0, 0, 0,
            d.utc1, d.utc2, earth.ut1_minus_utc_s, site.longitude_rad, site.latitude_rad,
            site.altitude_m, earth.pole_x_rad, earth.pole_y_rad, 0, 0, 0, 0, &azimuth,
            &zenith_distance, &hour_angle, &place.declination_rad, &cio_right_ascension, &origins);
  place.right_ascension_rad = eraAnp(cio_right_ascension - origins);

  const auto icrs_beside = [&](double arc) {
    const Angles p = step_north(place.right_ascension_rad, place.declination_rad, arc);
    return to_icrs(p.longitude_rad, p.latitude_rad, d, site, earth);
  };
  const Angles below = icrs_beside(-kFrameArc_rad), above = icrs_beside(kFrameArc_rad);
  place.frame_position_angle_rad =
      -eraPas(below.longitude_rad, below.latitude_rad, above.longitude_rad, above.latitude_rad);

  place.sidereal_time_rad = local_sidereal_time(d, site);
  place.axes = axes_at(place.sidereal_time_rad - place.right_ascension_rad - site.longitude_rad,
                       place.declination_rad, place.frame_position_angle_rad);
  return place;
}

ApparentPlace zenith_place(const core::Instant& time, const Site& site,
                           const EarthOrientation& earth) {
  ApparentPlace place;
  place.sidereal_time_rad = local_sidereal_time(dates_of(time, earth), site);
  place.right_ascension_rad = place.sidereal_time_rad;
  place.declination_rad = site.latitude_rad;
  place.axes = enu_axes(site);
  return place;
}

SkyDirection icrs_direction(const ApparentPlace& place, const core::Instant& time, const Site& site,
                            const EarthOrientation& earth) {
  const Angles icrs =
      to_icrs(place.right_ascension_rad, place.declination_rad, dates_of(time, earth), site, earth);
  return {eraAnp(icrs.longitude_rad) / core::kRadPerDeg, icrs.latitude_rad / core::kRadPerDeg};
}

GalacticPlace galactic_place(double right_ascension_deg, double declination_deg) {
  double longitude = 0, latitude = 0;
  eraIcrs2g(right_ascension_deg * core::kRadPerDeg, declination_deg * core::kRadPerDeg, &longitude,
            &latitude);
  return {longitude / core::kRadPerDeg, latitude / core::kRadPerDeg};
}

double arrival_delay_s(const Vector3& offset_ecef_m, const ProjectionAxes& axes) {
  return -dot(offset_ecef_m, axes.w) / core::kSpeedOfLight_m_per_s;
}

}  // namespace tautline::formats
