// Which method sums, and which delays.
#pragma once

#include "tautline/stages/dedisperse/plan/cost.h"

namespace tautline::stages::dedisperse {

/// Sub-bands that take more than this part of what exact sums take are not worth a loss.
inline constexpr double kWorthwhile = 0.8;

struct Chosen {
  Delays delays;
  Choice choice;  ///< without counted adds and text
  Estimate estimate;
};

/// Types of the CPU's rows and sums: they lose no integer, and sums are of 16 bits where those take
/// enough channels to be worth widening.
Types types_for(const Problem& problem);
/// The most channels that a partial sum of the CPU can hold, and that it can with its carries.
std::size_t channels_in_sum(const Problem& problem, Types types);
std::size_t channels_in_trial(const Problem& problem, Types types);
/// What the CPU has room for.
Room room_for(const Problem& problem, const Tunables& tunables);

/// The sub-bands that cost the CPU least, or the exact delays where there are none: what every
/// device sums, so that all of them give the same results.
Chosen choose_subband(const Problem& problem, const Tunables& tunables, const Room& room);

/// config().method, or the cheapest for automatic.
Chosen choose(const Problem& problem, const Tunables& tunables, const Room& room);

}  // namespace tautline::stages::dedisperse
