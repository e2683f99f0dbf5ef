// Tests of a converged fit: parameters that the points do not determine, and a chi-squared that noise does not
// explain.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

/// A time is beyond the lags where it is more than this many times above the last or below the first:
/// of a curve that has then fallen by a tenth, or whose points are all below a tenth, only a guess is left.
inline constexpr double kFarBeyond = 10;

/// A parameter that the points do not determine: a positive one (n, times, kappa) whose standard error
/// is larger than its value, a time far beyond the fitted lags. Empty when there is none.
std::string doubt_of(const std::vector<Parameter>& parameters, const Points& points,
                     const Solution& solution);

/// The largest reduced chi-squared that noise explains, five of its standard deviations above its mean. Standard errors
/// from K segments make each term the square of Student's t of K - 1 degrees of freedom; terms of neighbouring lags are
/// taken to go together in pairs. `segments`: fewer than six, or 0 (unknown), count as ten.
double largest_reduced_chi_squared(int degrees_of_freedom, std::size_t segments);

}  // namespace tautline::pipeline::fit
