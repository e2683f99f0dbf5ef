// Two-stage dedispersion as a table of delays: inside a sub-band neighbouring trials take one pattern of
// delays, moved as a whole, as far as the loss of S/N allows. Summed with shared sums, each
// sub-band's series are then made once for all trials that use them.
#pragma once

#include <cstddef>

#include "tautline/stages/dedisperse/plan/loss.h"
#include "tautline/stages/dedisperse/plan/problem.h"

namespace tautline::stages::dedisperse {

struct SubbandDelays {
  Delays delays;
  double loss = 0;  ///< the worst trial's, at most config().max_loss
};

/// `channels`: positions of a sub-band; `meter`: of the problem.
SubbandDelays subband_delays(const Problem& problem, LossMeter& meter, std::size_t channels);

}  // namespace tautline::stages::dedisperse
