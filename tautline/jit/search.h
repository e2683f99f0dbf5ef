// Finds the fastest configuration of a tunable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "tautline/jit/evaluator.h"
#include "tautline/jit/result.h"
#include "tautline/jit/space.h"
#include "tautline/jit/strategy.h"

namespace tautline::jit {

struct TuningSearchProgress {
  std::size_t tried = 0;
  std::uint64_t total = 0;  ///< legal configurations; 0 when they were not counted
  double elapsed_s = 0;
  double best_s = 0;  ///< 0: none yet
  bool final_rounds = false;
  Configuration now;  ///< the candidate that is tried next
};

struct TuningSearchOptions {
  StrategyKind strategy = StrategyKind::guided;
  std::uint64_t seed = 1;
  /// After it no further candidate is begun. 0: until the strategy has no more.
  double budget_s = 0;
  /// Nor after so many in all, known ones among them. 0: no limit. With the same seed and space
  /// several random searches then try the same candidates.
  std::size_t most_candidates = 0;
  /// How many are timed again, and how often in turn. The default configuration joins them.
  std::size_t finalists = 5;
  std::size_t rounds = 9;
  /// Candidates named to the evaluator ahead of their turn.
  std::size_t ahead = 0;
  /// Tried after the default and before all others.
  std::vector<Configuration> starts{};
  /// Of an earlier search, of any strategy: the strategy learns of them, and they are not tried
  /// again.
  std::vector<Result> known{};
  std::function<void(const Result&)> on_result{};  ///< new ones
  std::function<void(const TuningSearchProgress&)> on_progress{};
  std::stop_token stop{};
};

struct TuningSearchReport {
  std::vector<Result> results;    ///< of all candidates, known ones first
  std::vector<Result> finalists;  ///< timed again, fastest first: seconds is the median of rounds
  std::optional<Result>
      default_result;        ///< the default configuration: timed again, else why it is out
  std::uint64_t legal = 0;   ///< configurations that the constraint allows; 0: not counted
  std::size_t known = 0;     ///< results that were not tried again
  bool whole_space = false;  ///< nothing was left to try
  bool stopped = false;
  double elapsed_s = 0;

  /// The winner; null when nothing can run.
  const Result* best() const { return finalists.empty() ? nullptr : &finalists.front(); }
};

/// The default first, then what the strategy proposes until the budget is used up; then the best
/// few are timed again in turn, so that a slow moment of the machine hits all of them, checked once
/// more, and ordered by the medians of their rounds.
TuningSearchReport search(const Space& space, Evaluator& evaluator,
                          const TuningSearchOptions& options);

}  // namespace tautline::jit
