// Makes the delay models that keep an array pointed at a place on the sky.
#pragma once

#include <string>

#include "tautline/core/time.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/delays/delays.h"

namespace tautline::formats::delays {

struct TrackOptions {
  /// Largest difference between a linear piece and the true delay; 1e-4 turns at the top of the
  /// band is 0.04 degrees of phase.
  double max_error_s = 1e-13;
  /// Added to every delay: 0 refers times to the array's centre; the largest arrival delay makes
  /// all delays positive and moves every time stamp by as much.
  double common_delay_s = 0;
  EarthOrientation earth{};
};

/// The delays d that make d + tau(t - d) = common_delay_s, with tau the arrival delay of each
/// input's antenna, over [start, start + duration_s], as joined chords of the true curve. Throws
/// Error(config) when the duration or an option is out of range, when an antenna's position is
/// unknown, or when the pieces would be more than ten million.
Table track(const ArrayLayout& array, const std::string& phase_centre, const Position& position,
            const core::Instant& start, double duration_s, const TrackOptions& options = {});

/// For a warning: "NAME: below the horizon ...", where a place does not rise in [start, start + duration_s], or no
/// day at all at the array; else empty. Without refraction.
std::string below_horizon(const ArrayLayout& array, const std::string& name,
                          const Position& position, const core::Instant& start, double duration_s,
                          const EarthOrientation& earth = {});

}  // namespace tautline::formats::delays
