// Cold-plasma dispersion: the constant and the delay that stages, formats and simulations share.
#pragma once

#include <cmath>
#include <cstdint>

namespace tautline::core {

/// s MHz^2 per pc cm^-3: e^2 / (2 pi m_e c) with 1 pc = 3.0857e18 cm. PRESTO and TEMPO use 1 / 2.41e-4.
inline constexpr double kDispersionConstant = 4148.808;
/// What a constant that a user gives lies between: that of another unit (4.148808e15 with Hz, 4.148808e-3 with GHz) does
/// not.
inline constexpr double kLeastDispersionConstant = 4100, kGreatestDispersionConstant = 4200;

/// Delay in seconds at `frequency_mhz` relative to `reference_mhz`, of a dispersion measure in pc
/// cm^-3.
inline double dispersion_delay_s(double dm, double frequency_mhz, double reference_mhz,
                                 double dm_constant = kDispersionConstant) {
  return dm_constant * dm *
         (1 / (frequency_mhz * frequency_mhz) - 1 / (reference_mhz * reference_mhz));
}

/// The same in samples, rounded to the nearest (halves away from zero).
inline std::int64_t dispersion_delay_samples(double dm, double frequency_mhz, double reference_mhz,
                                             double sample_time_s,
                                             double dm_constant = kDispersionConstant) {
  return std::llround(dispersion_delay_s(dm, frequency_mhz, reference_mhz, dm_constant) /
                      sample_time_s);
}

}  // namespace tautline::core
