// A problem tuned at many sizes: the optimum, its distance from the mean of the space, and the gain
// of tuning against the size.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/jit/json.h"
#include "tautline/jit/tuning_summary.h"

namespace tautline::jit {

/// The name of a problem at one size of a sweep: "apertif,trials=2048".
std::string swept_name(const std::string& problem, const std::string& key, std::size_t value);

/// One problem at one size. Rates of 0 are unknown.
struct SweepPoint {
  std::size_t value = 0;
  double tuned = 0, default_rate = 0, fixed = 0, mean = 0;
  double optimum_sigmas = 0;   ///< standard deviations of the winner above the mean
  std::size_t candidates = 0;  ///< that were measured
  Configuration best;

  double gain_over_fixed() const { return fixed > 0 ? tuned / fixed : 0; }
};

/// One problem at all sizes. The best fixed configuration is the one that comes closest to the best
/// rates of all sizes, by geometric mean.
struct Sweep {
  std::string problem, key, unit;
  std::optional<Configuration> fixed;
  std::vector<SweepPoint> points;  ///< in order of size
};

/// Indices, in `problems`, of the problems of each sweep, in order of size. One size alone is not a
/// sweep.
std::vector<std::vector<std::size_t>> swept_together(std::span<const TunedProblem> problems);

/// The sweeps among the problems, which swept_name() named; other problems are ignored.
std::vector<Sweep> sweeps_of(std::span<const TunedProblem> problems);

Json sweeps_json(const std::vector<Sweep>& sweeps);

/// Rates, the distance of the optimum from the mean, and the gain over the best fixed configuration
/// against the size; a table of the same. HTML with SVG in the style of the report's page.
std::string sweep_section(const std::vector<Sweep>& sweeps);

}  // namespace tautline::jit
