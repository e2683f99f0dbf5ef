#include "tautline/formats/delays/track.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/delays/direction_track.h"

namespace tautline::formats::delays {

namespace {

using core::kEarthRotation_rad_per_s;
constexpr double kShortestPiece_s = 0.001, kLongestPiece_s = 60;
constexpr double kMostPieces = 1e7;
constexpr core::Rational kMilliseconds{1000, 1};

double length(const Vector3& v) {
  return std::sqrt(dot(v, v));
}

// A chord of length h strays by at most h^2 / 8 times the second derivative, omega^2 |offset| / c.
double piece_length_s(const ArrayLayout& array, double max_error_s) {
  double longest_m = 0;
  for (std::size_t a = 0; a < array.antennas.size(); ++a)
    longest_m = std::max(longest_m, length(antenna_offset_m(array, a)));
  const double curvature =
      kEarthRotation_rad_per_s * kEarthRotation_rad_per_s * longest_m / core::kSpeedOfLight_m_per_s;
  const double longest_s = std::sqrt(8 * max_error_s / std::max(curvature, 1e-30));
  const double clamped = std::clamp(longest_s, kShortestPiece_s, kLongestPiece_s);
  return std::floor(clamped / kShortestPiece_s) * kShortestPiece_s;
}

void check(const ArrayLayout& array, const Position& position, double duration_s,
           const TrackOptions& options) {
  const auto fail = [](const char* field, double value, const char* limit) {
    throw core::Error(core::ErrorKind::config, field, fmt::format("{}", value), limit);
  };
  if (!array.positions_known)
    throw core::Error(core::ErrorKind::config, "phase centre", "antenna positions unknown",
                      "an array layout", "give one with `array_path`");
  if (!(duration_s >= 0 && duration_s <= 1e8)) fail("duration_s", duration_s, "0 to 1e8");
  if (!(std::abs(position.dec_deg) <= 90)) fail("dec_deg", position.dec_deg, "-90 to 90");
  if (!(position.ra_deg >= 0 && position.ra_deg < 360)) fail("ra_deg", position.ra_deg, "0 to 360");
  if (!(options.max_error_s > 0)) fail("max_error_s", options.max_error_s, "more than 0");
  if (!(std::abs(options.common_delay_s) < 1))
    fail("common_delay_s", options.common_delay_s, "less than a second");
}

// d + tau(t - d) = D with tau(t - d) = tau - rate d, so d = (D - tau) / (1 - rate).
std::vector<double> aligning_delays_s(const ArrayLayout& array, const DirectionTrack& direction,
                                      double seconds, double common_delay_s) {
  std::vector<double> delays = arrival_delays_s(array, direction.at(seconds));
  const std::vector<double> rates = arrival_delays_s(array, direction.rate_at(seconds));
  for (std::size_t a = 0; a < delays.size(); ++a)
    delays[a] = (common_delay_s - delays[a]) / (1 - rates[a]);
  return delays;
}

}  // namespace

Table track(const ArrayLayout& array, const std::string& phase_centre, const Position& position,
            const core::Instant& start, double duration_s, const TrackOptions& options) {
  check(array, position, duration_s, options);
  const double piece_s = piece_length_s(array, options.max_error_s);
  const auto pieces = static_cast<std::int64_t>(std::floor(duration_s / piece_s)) + 1;
  const auto inputs = static_cast<double>(array.inputs.size());
  if (static_cast<double>(pieces) * inputs > kMostPieces)
    throw core::Error(core::ErrorKind::config, "duration_s", fmt::format("{:g} s", duration_s),
                      fmt::format("at most {:g} s: ten million pieces of {:g} s for all inputs",
                                  std::floor(kMostPieces / inputs) * piece_s, piece_s),
                      "track a shorter time at once");
  const auto step = static_cast<std::int64_t>(std::llround(piece_s / kShortestPiece_s));
  const DirectionTrack direction(site_of(array), position.ra_deg, position.dec_deg, start,
                                 static_cast<double>(pieces) * piece_s, options.earth);
  Table table;
  table.phase_centre = phase_centre;
  table.position = position;
  table.inputs.resize(array.inputs.size());
  std::vector<double> here = aligning_delays_s(array, direction, 0, options.common_delay_s);
  for (std::int64_t p = 0; p < pieces; ++p) {
    const double next_s = static_cast<double>(p + 1) * piece_s;
    const std::vector<double> next =
        aligning_delays_s(array, direction, next_s, options.common_delay_s);
    const core::Instant from = core::advance(start, p * step, kMilliseconds);
    for (std::size_t i = 0; i < array.inputs.size(); ++i) {
      const std::size_t a = array.inputs[i].antenna;
      table.inputs[i].push_back({from, here[a], (next[a] - here[a]) / piece_s});
    }
    here = next;
  }
  table.valid_until = core::advance(start, pieces * step, kMilliseconds);
  return table;
}

std::string below_horizon(const ArrayLayout& array, const std::string& name,
                          const Position& position, const core::Instant& start, double duration_s,
                          const EarthOrientation& earth) {
  constexpr std::int64_t kDay_s = 86'400, kStep_s = 60;
  if (!array.positions_known) return {};
  const Site site = site_of(array);
  const auto seconds = static_cast<std::int64_t>(std::clamp<double>(duration_s, 0, kDay_s));
  const auto elevation_deg = [&](std::int64_t after_s) {
    const core::Instant time = core::advance(start, after_s, {1, 1});
    const Vector3 w = apparent_place(position.ra_deg, position.dec_deg, time, site, earth).axes.w;
    return std::asin(std::clamp(ecef_to_enu(w, site)[2], -1.0, 1.0)) / core::kRadPerDeg;
  };
  double highest_deg = elevation_deg(seconds);
  for (std::int64_t s = 0; s < seconds && highest_deg < 0; s += kStep_s)
    highest_deg = std::max(highest_deg, elevation_deg(s));
  if (highest_deg >= 0) return {};
  const double upper_transit_deg =
      90 - std::abs(site.latitude_rad / core::kRadPerDeg - position.dec_deg);
  return fmt::format(
      "{}: below the horizon all the time, at an elevation of {:.1f} degrees at most{}", name,
      highest_deg, upper_transit_deg < 0 ? "; it never rises at the array" : "");
}

}  // namespace tautline::formats::delays
