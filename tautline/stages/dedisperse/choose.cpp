#include "tautline/stages/dedisperse/choose.h"

#include <limits>
#include <optional>
#include <utility>

#include "tautline/stages/dedisperse/subband.h"

namespace tautline::stages::dedisperse {

namespace {

// Channels of a sub-band that are tried: trials add the sub-bands, so few of them are good, and
// narrow ones can share their series among more trials.
constexpr std::size_t kSubbands[] = {16, 32, 64};

// A sub-band that saves less is not worth a loss.
constexpr double kWorthwhile = 0.8;

void take_subband(const Problem& problem, const Tunables& tunables, const Room& room, Chosen& best,
                  double most_cycles) {
  for (const std::size_t channels : kSubbands) {
    if (channels > kSubbands[0] && channels >= 2 * problem.positions()) break;
    SubbandDelays subband = subband_delays(problem, channels);
    const auto shared = cheapest_shared(problem, subband.delays, tunables, room);
    if (!shared || shared->cycles >= most_cycles) continue;
    most_cycles = shared->cycles;
    best.estimate = *shared;
    best.delays = std::move(subband.delays);
    best.choice.method = Method::subband;
    best.choice.loss = subband.loss;
  }
}

}  // namespace

Chosen choose(const Problem& problem, const Tunables& tunables, const Room& room) {
  const Method method = problem.config().method;
  Chosen best{problem.delays(), {}, cheapest_plain(problem, problem.delays(), tunables, room)};
  best.choice.plain_adds =
      static_cast<double>(problem.trials()) * static_cast<double>(problem.positions());
  if (method == Method::exact) return best;
  if (method == Method::subband) {
    take_subband(problem, tunables, room, best, std::numeric_limits<double>::infinity());
    return best;
  }
  const auto shared = cheapest_shared(problem, problem.delays(), tunables, room);
  if (shared && (method == Method::shared || shared->cycles < best.estimate.cycles)) {
    best.estimate = *shared;
    best.choice.method = Method::shared;
  }
  if (method == Method::automatic)
    take_subband(problem, tunables, room, best, kWorthwhile * best.estimate.cycles);
  return best;
}

}  // namespace tautline::stages::dedisperse
