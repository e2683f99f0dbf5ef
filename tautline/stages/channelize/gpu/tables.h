// The tables of the GPU kernels: coefficients and twiddle factors.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/gpu/layout.h"

namespace tautline::stages::channelize::gpu {

/// [tap][value][component of real input], in the order of filter.kernel. Halved for real input,
/// whose split adds two terms. `centred`: every other coefficient is negated, so that the
/// transform's terms are in ascending order.
std::vector<float> coefficients(const Bank& bank, bool centred);

/// Twiddle factors, as cosines and tangents, of the passes after the first; of all passes if
/// another kernel has done a pass of `parts` terms before (transform.kernel).
std::vector<float> twiddles(const Radices& radices, std::size_t parts);

}  // namespace tautline::stages::channelize::gpu
