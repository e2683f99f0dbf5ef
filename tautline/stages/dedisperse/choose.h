// Which method sums, and which delays.
#pragma once

#include "tautline/stages/dedisperse/cost.h"

namespace tautline::stages::dedisperse {

struct Chosen {
  Delays delays;
  Choice choice;  ///< without counted adds and text
  Estimate estimate;
};

/// config().method, or the cheapest for automatic.
Chosen choose(const Problem& problem, const Tunables& tunables, const Room& room);

}  // namespace tautline::stages::dedisperse
