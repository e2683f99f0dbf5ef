// Statistics of a search: the distribution of rates over the space, and the gain from tuning.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/jit/search.h"
#include "tautline/jit/strategy.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

/// A problem that was searched.
struct TunedProblem {
  std::string name;  ///< of the preset, or the sizes
  TuningKey key;
  Space space;
  double operations = 0;  ///< of one run
  std::string unit;       ///< of operations over seconds
  StrategyKind strategy = StrategyKind::guided;
  std::uint64_t seed = 0;
  double budget_s = 0;
  TuningSearchReport report;

  double rate(double seconds) const { return operations / seconds; }
};

/// The rates of the measured candidates. They describe the space as far as the strategy does: all
/// candidates, a random sample, or candidates near the best.
struct Distribution {
  std::size_t count = 0;
  double mean = 0, deviation = 0;  ///< of the rates
  double least = 0, most = 0;
  /// How many standard deviations the winner is above the mean: a measure of how rarely a random
  /// guess is as good.
  double optimum_sigmas = 0;
  double bin_width = 0;  ///< the first bin starts at 0
  std::vector<std::size_t> bins;
};
Distribution distribution(const TunedProblem& problem);

/// The best fixed configuration: the one measured in every problem that has the greatest geometric
/// mean of fractions of the problems' own best rates.
struct FixedChoice {
  Configuration configuration;
  std::vector<double> fractions;  ///< of each problem's best rate
};
/// None when no configuration was measured in all of them.
std::optional<FixedChoice> best_fixed(std::span<const TunedProblem> problems);
std::optional<FixedChoice> best_fixed(const std::vector<const TunedProblem*>& problems);

/// Seconds of a configuration in a problem, of the final rounds for configurations in them; 0 when
/// it was not measured.
double seconds_of(const TunedProblem& problem, const Configuration& configuration);

/// How much faster the winner is than the default; 0 when either cannot run.
double gain_over_default(const TunedProblem& problem);

/// The report as one JSON object, schema "tautline.tuning", version 1 (docs/guide/tuning.md).
std::string report_json(std::span<const TunedProblem> problems);

/// The report as an HTML page that needs no other file.
std::string report_page(std::span<const TunedProblem> problems);

}  // namespace tautline::jit
