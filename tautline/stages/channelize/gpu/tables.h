// The tables that the GPU kernels read: coefficients, and the factors of the transforms.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/gpu/layout.h"

namespace tautline::stages::channelize::gpu {

/// [tap][value][component of real input], in the order of filter.kernel. Halved for real input,
/// whose split adds two terms. `centred`: every other one negated, so that the transform comes out
/// in ascending order.
std::vector<float> coefficients(const Bank& bank, bool centred);

/// Cosines and tangents of the passes behind the first, or of all when `parts` terms stand before
/// them (transform.kernel).
std::vector<float> turns(const Radices& radices, std::size_t parts);

/// exp(-2 pi i k / (2 channels)), k from 0 to count - 1.
std::vector<std::complex<float>> halves(std::size_t channels, std::size_t count);

}  // namespace tautline::stages::channelize::gpu
