#include "tautline/stages/dedisperse/plan/loss.h"

#include <algorithm>

namespace tautline::stages::dedisperse {

LossMeter::LossMeter(const DelayPlan& plan)
    : plan_(plan), dispersion_(plan), profile_(dispersion_) {
  const auto& order = plan.order();
  const auto dm = [&](std::size_t n) { return plan.config().dms[order[n]]; };
  for (std::size_t n = 0; n < order.size(); ++n) {
    std::vector<Pulse> pulses{{dm(n)}};
    // The farthest first: they are most often the worst.
    for (const double eighths : {4.0, 2.0, 3.0, 1.0}) {
      if (n > 0) pulses.push_back({dm(n) + (dm(n - 1) - dm(n)) * eighths / 8});
      if (n + 1 < order.size()) pulses.push_back({dm(n) + (dm(n + 1) - dm(n)) * eighths / 8});
    }
    pulses_.push_back(std::move(pulses));
  }
}

double LossMeter::loss(std::size_t n, const std::int32_t* delays, double most) {
  const std::int32_t* exact = plan_.exact().row(plan_.order()[n]);
  if (std::equal(delays, delays + plan_.positions(), exact)) return 0;
  double worst = 0;
  for (Pulse& pulse : pulses_[n]) {
    profile_.set_pulse(pulse.dm, exact);
    if (pulse.exact == 0) pulse.exact = profile_.brightness(exact);
    worst = std::max(worst, 1 - profile_.brightness(delays) / pulse.exact);
    if (worst > most) break;
  }
  return worst;
}

}  // namespace tautline::stages::dedisperse
