// The packed lower triangle in which visibilities are stored.
#pragma once

#include <cstddef>

namespace tautline::core {

/// Number of pairs (i, j) with i >= j, autocorrelations included.
constexpr std::size_t baseline_count(std::size_t inputs) { return inputs * (inputs + 1) / 2; }

/// Index of the pair (i, j), i >= j: V(i, j) = sum over time of x_i conj(x_j).
constexpr std::size_t baseline_index(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

}  // namespace tautline::core
