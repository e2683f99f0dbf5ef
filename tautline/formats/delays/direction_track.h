// The direction of a place on the sky from the turning earth, cheap to compute at any
// instant.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/astronomy.h"

namespace tautline::formats::delays {

/// Unit vectors towards one ICRS position over a span of time, in ECEF axes: apparent_place() at
/// knots ten seconds apart and third-order interpolation between them, good to 1e-14 rad (the
/// fourth derivative of a turning vector is omega^4 = 2.8e-17 rad/s^4).
class DirectionTrack {
 public:
  DirectionTrack(const Site& site, double right_ascension_deg, double declination_deg,
                 const core::Instant& start, double duration_s, const EarthOrientation& earth = {});

  /// The direction `seconds` after the start; from 0 to the duration, and a knot beyond each end.
  Vector3 at(double seconds) const;
  /// Its first derivative, per second.
  Vector3 rate_at(double seconds) const;

 private:
  struct Place {
    std::size_t knot;  // of the second of the four around the instant
    double offset;     // in knots from it
  };
  Place place(double seconds) const;

  std::vector<Vector3> knots_;
};

/// The arrival delays of all antennas, seconds: -(offset . direction) / c.
std::vector<double> arrival_delays_s(const ArrayLayout& array, const Vector3& direction);

}  // namespace tautline::formats::delays
