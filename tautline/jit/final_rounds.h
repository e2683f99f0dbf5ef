// Final rounds of a search: the best few candidates are timed again in turn, so that a slow moment
// of the machine affects all of them, checked once more, and ordered by the medians of their
// rounds.
#pragma once

#include <functional>
#include <vector>

#include "tautline/jit/search.h"

namespace tautline::jit {

/// Fills report.finalists and report.default_result. A candidate that fails is dropped, and its
/// entry in report.results says why. `show` is told which candidate is timed next. Changes no
/// finalists when interrupted.
void run_final_rounds(const Space& space, Evaluator& evaluator, const TuningSearchOptions& options,
                      const std::vector<Configuration>& entrants,
                      const std::function<void(const Configuration&)>& show,
                      TuningSearchReport& report);

}  // namespace tautline::jit
