// Tests of a converged fit: parameters that the points do not determine, and a chi-squared beyond the noise.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/pipeline/photons/fit/least_squares.h"
#include "tautline/pipeline/photons/fit/model.h"

namespace tautline::pipeline::fit {

/// A time is beyond the lags where it is more than this many times the last or below the first: the curve falls by only
/// a tenth over the points, or all points are below a tenth, and the time is only a guess.
inline constexpr double kFarBeyond = 10;

/// Names a parameter that the points do not determine: a positive one (n, times, kappa) whose standard error is larger
/// than its value, or a time far beyond the fitted lags. Empty when there is none.
std::string doubt_of(const std::vector<Parameter>& parameters, const Points& points,
                     const Solution& solution);

/// What a number of the chi-squared distribution exceeds as rarely as one of the normal distribution exceeds so many
/// standard deviations (Wilson & Hilferty 1931, within 3 % from two degrees of freedom on).
double chi_squared_beyond(double standard_deviations, double freedom);

/// The reduced chi-squared of n degrees of freedom that noise exceeds once in a thousand fits: the tail of the
/// chi-squared distribution whose mean and variance are those of the sum. Standard errors from K segments make each term
/// the square of Student's t of K - 1 degrees of freedom; terms of neighbouring lags are assumed to be correlated in
/// pairs. `segments`: fewer than six, or 0 (unknown), count as ten.
double largest_reduced_chi_squared(int degrees_of_freedom, std::size_t segments);

}  // namespace tautline::pipeline::fit
