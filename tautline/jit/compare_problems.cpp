#include "tautline/jit/compare_problems.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tautline/jit/final_rounds.h"
#include "tautline/jit/tuning_sweep.h"

namespace tautline::jit {

namespace {

// A candidate that took this many times the winner's time when it was tried will not win in rounds.
constexpr double kOutOfReach = 1.25;

bool contains(const std::vector<Result>& results, const Configuration& configuration) {
  return std::any_of(results.begin(), results.end(),
                     [&](const Result& result) { return result.configuration == configuration; });
}

// Configurations that are legal in the problem and were not tried.
void measure_missing(TunedProblem& problem, const std::vector<Configuration>& configurations,
                     Evaluator& evaluator, const TunerOptions& options) {
  for (const Configuration& configuration : configurations) {
    if (options.stop.stop_requested()) return;
    if (contains(problem.report.results, configuration) || !problem.space.legal(configuration))
      continue;
    const Result result = evaluator.evaluate({.configuration = configuration});
    if (result.outcome == Outcome::interrupted) return;
    if (options.on_result) options.on_result(result);
    problem.report.results.push_back(result);
  }
}

// Whether a configuration might beat the winner and was not timed beside it.
bool in_question(const TunedProblem& problem, const Configuration& configuration) {
  const Result* best = problem.report.best();
  const double seconds = seconds_of(problem, configuration);
  return best != nullptr && seconds > 0 && seconds < kOutOfReach * best->seconds &&
         !contains(problem.report.finalists, configuration);
}

void repeat_final_rounds(TunedProblem& problem, const Configuration& with, Evaluator& evaluator,
                         const TunerOptions& options) {
  TuningSearchOptions search;
  search.budget_s = options.budget_s;
  search.on_result = options.on_result;
  std::vector<Configuration> entrants;
  for (const Result& finalist : problem.report.finalists)
    entrants.push_back(finalist.configuration);
  entrants.push_back(with);
  run_final_rounds(
      problem.space, evaluator, search, entrants, [](const Configuration&) {}, problem.report);
}

// Whether any final rounds were repeated for the best fixed configuration of a group.
bool settle(std::span<TunedProblem> problems, const std::vector<std::size_t>& group,
            const MakeEvaluator& make_evaluator, const TunerOptions& options) {
  std::vector<const TunedProblem*> members;
  for (const std::size_t p : group) members.push_back(&problems[p]);
  const auto fixed = best_fixed(members);
  bool repeated = false;
  for (const std::size_t p : group) {
    if (options.stop.stop_requested()) return false;
    if (!fixed || !in_question(problems[p], fixed->configuration)) continue;
    repeat_final_rounds(problems[p], fixed->configuration, *make_evaluator(problems[p]), options);
    repeated = true;
  }
  return repeated;
}

}  // namespace

void compare_problems(std::span<TunedProblem> problems, const MakeEvaluator& make_evaluator,
                      const TunerOptions& options) {
  std::vector<Configuration> all;
  for (const TunedProblem& problem : problems) {
    all.push_back(problem.space.default_configuration());
    for (const Result& finalist : problem.report.finalists) all.push_back(finalist.configuration);
  }
  for (TunedProblem& problem : problems)
    measure_missing(problem, all, *make_evaluator(problem), options);

  auto groups = swept_together(problems);
  groups.emplace_back(problems.size());
  std::iota(groups.back().begin(), groups.back().end(), std::size_t{0});
  // Every turn adds finalists to a problem, or drops a candidate: there is an end.
  for (bool repeated = true; repeated && !options.stop.stop_requested();) {
    repeated = false;
    for (const auto& group : groups)
      repeated = settle(problems, group, make_evaluator, options) || repeated;
  }
}

}  // namespace tautline::jit
