// Two-stage dedispersion as a table of delays: inside a sub-band neighbouring trials take one
// pattern of delays, moved as a whole, as far as the loss of S/N allows. Summed with shared sums,
// each sub-band's series are then made once for all trials that use them.
#pragma once

#include <cstddef>
#include <optional>

#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/plan/loss.h"

namespace tautline::stages::dedisperse {

/// Along delays shared inside sub-bands of so many `channels` (positions) no trial loses more than
/// plan.allowed_loss(). `meter`: of the plan.
LossyDelays subband_delays(const DelayPlan& plan, LossMeter& meter, std::size_t channels);

/// Those of sub-bands of 16, 32 or 64 channels, whichever take least as counted_accesses() counts.
/// None for Method::automatic unless they save a fifth of what exact sums take.
std::optional<LossyDelays> choose_subbands(const DelayPlan& plan);

}  // namespace tautline::stages::dedisperse
