// The figures of a tuning report, as SVG text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tautline/jit/tuning_summary.h"

namespace tautline::jit::figures {

/// "12.3 T", "950 M", "0.42": three digits and a prefix.
std::string with_prefix(double value);
std::string escape(std::string_view text);

/// A histogram of the candidates' rates, with marks for the mean, the default, the best fixed
/// configuration (0: none) and the winner.
std::string histogram(const TunedProblem& problem, double fixed_rate);

/// For every parameter, the best rate with each of its values: the figure shows which parameters
/// matter.
std::string parameters(const TunedProblem& problem);

struct Comparison {
  std::string problem;
  double default_rate = 0, fixed = 0, tuned = 0;  ///< rates; 0: unknown
};
/// The rates of the default and of the best fixed configuration over the tuned rate.
std::string comparison(const std::vector<Comparison>& rows);

}  // namespace tautline::jit::figures
