// Chooses the bin length of time tags when the user gives none.
#pragma once

#include <cstdint>
#include <string>

namespace tautline::pipeline {

struct DefaultBin {
  double bin_s = 0;
  std::string reason;  ///< as text for users
};

/// A tenth of the shortest resolvable diffusion time, rounded down to 1, 2 or 5 times a power of ten and to at
/// least one unit of the clock. That time is the longer of
/// - the mean time between two photons of the brightest detector: particles that diffuse faster give less than one
/// photon each, so that their pairs of photons are few;
/// - ten units of the clock (T3: sync periods), so that the curve has ten lags before it falls.
/// Throws Error(config) where there are no photons.
DefaultBin default_bin(const std::string& path, std::uint64_t photons, std::uint64_t clock_units,
                       double unit_s);

}  // namespace tautline::pipeline
