#include "tautline/stages/dedisperse/choose.h"

#include <optional>
#include <utility>

namespace tautline::stages::dedisperse {

Chosen choose(const Problem& problem, const Tunables& tunables, const Room& room) {
  const Method method = problem.config().method;
  Chosen best{problem.delays(), {}, cheapest_plain(problem, problem.delays(), tunables, room)};
  best.choice.plain_adds =
      static_cast<double>(problem.trials()) * static_cast<double>(problem.positions());
  if (method == Method::exact) return best;
  const auto shared = cheapest_shared(problem, problem.delays(), tunables, room);
  if (shared && (method == Method::shared || shared->cycles < best.estimate.cycles)) {
    best.estimate = *shared;
    best.choice.method = Method::shared;
  }
  return best;
}

}  // namespace tautline::stages::dedisperse
