// How much work a shape makes, counted: how the CPU plan chooses.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tautline/stages/dedisperse/plan/program.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

struct Estimate {
  Shape shape;
  double cycles =
      0;  ///< of one core, for one time of all trials of a beam: relative, not a promise
};

/// The cheapest shape for summing `delays` with shared sums, or without (levels 0). Values that the
/// tunables give are taken as they are. None when nothing can be shared: sums that hold one
/// channel.
std::optional<Estimate> cheapest_shared(const Problem& problem, const Delays& delays,
                                        const Tunables& tunables, const Room& room);
Estimate cheapest_plain(const Problem& problem, const Delays& delays, const Tunables& tunables,
                        const Room& room);

}  // namespace tautline::stages::dedisperse
