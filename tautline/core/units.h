// Physical constants with their sources.
#pragma once

#include <numbers>

namespace tautline::core {

inline constexpr double kSpeedOfLight_m_per_s = 299'792'458.0;  ///< exact, SI
inline constexpr double kHzPerMhz = 1e6;
inline constexpr double kRadPerDeg = std::numbers::pi / 180;

}  // namespace tautline::core
