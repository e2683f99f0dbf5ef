// Times the winners of several tuned problems on each other: the cost of one configuration for all of them.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "tautline/jit/evaluator.h"
#include "tautline/jit/tuner.h"

namespace tautline::jit {

/// The evaluator in which the candidates of a problem run.
using MakeEvaluator = std::function<std::unique_ptr<Evaluator>(const TunedProblem&)>;

/// Times every problem's finalists and default in every other problem. Where the best fixed
/// configuration, of all problems or of a sweep, then comes near a problem's winner, the final
/// rounds of that problem are repeated with this configuration among them. So no fixed
/// configuration is faster than the winner, which may have changed: keep_winner() again. Ends early
/// on options.stop.
void compare_problems(std::span<TunedProblem> problems, const MakeEvaluator& make_evaluator,
                      const TunerOptions& options);

}  // namespace tautline::jit
