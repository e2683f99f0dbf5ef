// Exact values behind the doubles of file headers: the ratio or the instant that the writer rounded.
#pragma once

#include <cstdint>

#include "tautline/core/time.h"

namespace tautline::core {

/// The ratio of the smallest numbers that rounds to `value`: 0.000512 gives 8/15625, and the double
/// nearest to 1/30000 gives 1/30000. Throws Error(config) unless value is finite, positive and
/// within 1e-18 to 1e18.
Rational simplest_ratio(double value);

/// The instant of a modified Julian date in UTC, exactly the double's. Throws Error(config) unless
/// it is finite and within 1e8 days of 0.
Instant instant_of_mjd(double mjd);
/// The same for a whole day and seconds since its midnight, which may exceed a day or be negative.
Instant instant_of_mjd(std::int64_t day, double seconds);

}  // namespace tautline::core
