#include "tautline/formats/delays/direction_track.h"

#include <algorithm>
#include <cmath>

#include "tautline/core/units.h"

namespace tautline::formats::delays {

namespace {

constexpr std::int64_t kKnot_s = 10;
// Knots in front of the start, so that the first interval has a neighbour on its left even when it
// is asked for an instant just before the start.
constexpr std::int64_t kKnotsBefore = 2;

constexpr core::Rational kOneHertz{1, 1};

// The weights of four equally spaced values at -1, 0, 1, 2 for the cubic through them at x.
std::array<double, 4> cubic_weights(double x) {
  return {-x * (x - 1) * (x - 2) / 6, (x + 1) * (x - 1) * (x - 2) / 2, -(x + 1) * x * (x - 2) / 2,
          (x + 1) * x * (x - 1) / 6};
}

std::array<double, 4> cubic_derivative_weights(double x) {
  return {-(3 * x * x - 6 * x + 2) / 6, (3 * x * x - 4 * x - 1) / 2, -(3 * x * x - 2 * x - 2) / 2,
          (3 * x * x - 1) / 6};
}

Vector3 combine(const std::vector<Vector3>& knots, std::size_t knot,
                const std::array<double, 4>& weights) {
  Vector3 sum{};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t axis = 0; axis < 3; ++axis)
      sum[axis] += weights[k] * knots[knot - 1 + k][axis];
  return sum;
}

}  // namespace

DirectionTrack::DirectionTrack(const Site& site, double right_ascension_deg, double declination_deg,
                               const core::Instant& start, double duration_s,
                               const EarthOrientation& earth) {
  const auto intervals = static_cast<std::int64_t>(std::ceil(duration_s / kKnot_s)) + 1;
  for (std::int64_t k = -kKnotsBefore; k <= intervals + 2; ++k) {
    const core::Instant t = core::advance(start, k * kKnot_s, kOneHertz);
    knots_.push_back(apparent_place(right_ascension_deg, declination_deg, t, site, earth).axes.w);
  }
}

DirectionTrack::Place DirectionTrack::place(double seconds) const {
  const double in_knots = seconds / kKnot_s + kKnotsBefore;
  const double last = static_cast<double>(knots_.size()) - 3;
  const double knot = std::clamp(std::floor(in_knots), 1.0, last);
  return {static_cast<std::size_t>(knot), in_knots - knot};
}

Vector3 DirectionTrack::at(double seconds) const {
  const Place p = place(seconds);
  return combine(knots_, p.knot, cubic_weights(p.offset));
}

Vector3 DirectionTrack::rate_at(double seconds) const {
  const Place p = place(seconds);
  Vector3 rate = combine(knots_, p.knot, cubic_derivative_weights(p.offset));
  for (double& component : rate) component /= kKnot_s;
  return rate;
}

std::vector<double> arrival_delays_s(const ArrayLayout& array, const Vector3& direction) {
  std::vector<double> delays(array.antennas.size());
  for (std::size_t a = 0; a < delays.size(); ++a)
    delays[a] = -dot(antenna_offset_m(array, a), direction) / core::kSpeedOfLight_m_per_s;
  return delays;
}

}  // namespace tautline::formats::delays
