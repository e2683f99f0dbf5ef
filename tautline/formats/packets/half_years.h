// Half-years since 2000, the epochs from which VDIF counts seconds: 0 to 63, then 0 again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautline/core/time.h"

namespace tautline::formats::packets {

inline constexpr std::size_t kHalfYears = 64;
/// The period of 64 half-years. Leap seconds are left out: none has been inserted since 2016, and a sender that keeps
/// an epoch across one is a second early from then on.
inline constexpr std::int64_t kHalfYearsPeriod_s = 11'688 * core::kSecondsPerDay;

/// The beginning of a half-year, number < kHalfYears.
core::Instant half_year(std::size_t number);
/// Seconds from 2000-01-01 to it.
std::int64_t half_year_s(std::size_t number);
/// The last half-year that begins at or before so many seconds.
std::size_t half_year_at(std::int64_t seconds);

}  // namespace tautline::formats::packets
