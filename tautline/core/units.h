// Physical constants with their sources.
#pragma once

#include <numbers>

namespace tautline::core {

inline constexpr double kSpeedOfLight_m_per_s = 299'792'458.0;  ///< exact, SI
/// Mean angular velocity: IERS Conventions (2010), table 1.2.
inline constexpr double kEarthRotation_rad_per_s = 7.292'115e-5;
inline constexpr double kHzPerMhz = 1e6;
inline constexpr double kRadPerDeg = std::numbers::pi / 180;

}  // namespace tautline::core
