// Tables that all CPU kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/stages/channelize/bank.h"

namespace tautline::stages::channelize {

/// [tap][component] in float: two coefficients a complex sample. The second one is negated for the
/// lower sideband, which conjugates the voltages at no cost.
std::vector<float> component_coefficients(const Bank& bank);

/// (s D) mod M in components, with s counted from the stream's first spectrum.
inline std::size_t tile_origin(const Bank& bank, std::uint64_t spectrum) {
  return spectrum % bank.frame * bank.hop % bank.frame * bank.components_per_sample();
}

}  // namespace tautline::stages::channelize
