// Where the sky is for an array on the ground: positions, apparent places, delays and uvw.
//
// Axes. ECEF is earth-centred and earth-fixed (ITRS), x through longitude 0, z through the north
// pole. ENU is east, north, up on the WGS84 ellipsoid at the site. Offsets are relative to the
// array's centre. docs/maths/visibilities.md has the formulae.
#pragma once

#include <array>

#include "tautline/core/fields.h"
#include "tautline/core/time.h"
#include "tautline/formats/array_layout.h"

namespace tautline::formats {

using Vector3 = std::array<double, 3>;

double dot(const Vector3& a, const Vector3& b);
Vector3 difference(const Vector3& a, const Vector3& b);

/// A place on the WGS84 ellipsoid.
struct Site {
  double longitude_rad = 0, latitude_rad = 0, altitude_m = 0;
};

Site site_of(const ArrayLayout& array);

/// The site's position from the earth's centre, m.
Vector3 ecef_m(const Site& site);
/// The site at a position from the earth's centre. Throws Error(config) at the centre itself.
Site site_at(const Vector3& ecef_m);
/// Turns an offset from one set of axes to the other; no origin is added.
Vector3 enu_to_ecef(const Vector3& enu_m, const Site& site);
Vector3 ecef_to_enu(const Vector3& ecef_m, const Site& site);
/// Antenna `antenna` relative to the array's centre, in ECEF axes, m.
Vector3 antenna_offset_m(const ArrayLayout& array, std::size_t antenna);

/// The earth's orientation as only observations give it (IERS Bulletin A). Zero where it is not given: UT1-UTC stays
/// within 0.9 s, which is 13 arc seconds of hour angle.
struct EarthOrientation {
  double ut1_minus_utc_s = 0;
  double pole_x_rad = 0, pole_y_rad = 0;
};
const core::Fields<EarthOrientation>& fields(const EarthOrientation&);

/// Local apparent sidereal time (IAU 2006/2000A), 0 to 2 pi.
double sidereal_time_rad(const core::Instant& time, const Site& site,
                         const EarthOrientation& earth = {});

/// Unit vectors in ECEF axes: w towards the centre of the field, v its north, u its east.
/// (u, v, w) of a baseline is the dot product of each with position(ant_2) - position(ant_1).
struct ProjectionAxes {
  Vector3 u{}, v{}, w{};
};

Vector3 uvw_m(const ProjectionAxes& axes, const Vector3& baseline_ecef_m);

/// A direction on the sky as an array sees it at one instant.
struct ApparentPlace {
  double right_ascension_rad = 0, declination_rad = 0;  ///< topocentric apparent, true equinox
  double frame_position_angle_rad = 0;                  ///< of ICRS north against apparent north
  double sidereal_time_rad = 0;                         ///< local apparent
  ProjectionAxes axes;
};

/// The place of a source fixed in the ICRS, without refraction.
ApparentPlace apparent_place(double right_ascension_deg, double declination_deg,
                             const core::Instant& time, const Site& site,
                             const EarthOrientation& earth = {});
/// The zenith, normal to the ellipsoid: axes are east, north, up and the frame's angle is zero.
ApparentPlace zenith_place(const core::Instant& time, const Site& site,
                           const EarthOrientation& earth = {});

struct SkyDirection {
  double right_ascension_deg = 0, declination_deg = 0;  ///< ICRS
};

/// The ICRS direction that stands at an apparent place at that time.
SkyDirection icrs_direction(const ApparentPlace& place, const core::Instant& time, const Site& site,
                            const EarthOrientation& earth = {});

struct GalacticPlace {
  double longitude_deg = 0, latitude_deg = 0;  ///< longitude 0 to 360
};

GalacticPlace galactic_place(double right_ascension_deg, double declination_deg);

/// How much later than at the array's centre the wavefront from `axes.w` reaches an antenna:
///   tau = -(offset . w) / c
/// so that x_antenna(t) = s(t - tau). The delay that aligns the antenna with the centre is -tau.
double arrival_delay_s(const Vector3& offset_ecef_m, const ProjectionAxes& axes);

}  // namespace tautline::formats
