// What delays that are not the exact ones cost in signal-to-noise.
#pragma once

#include <vector>

#include "tautline/stages/dedisperse/pulse_profile.h"

namespace tautline::stages::dedisperse {

/// The loss of S/N along other delays: 1 - S' / S, the worst of three pulses, of the trial's DM and
/// half-way to either neighbour's. S and S' are the best boxcar's S/N in the trial along its rounded
/// exact delays and along the others (PulseProfile::brightness). What each trial loses at most, the
/// best of them loses at most.
class LossMeter {
 public:
  LossMeter(const Problem& problem, const Dispersion& dispersion);

  /// Of the n-th trial in order of DM along `delays` [position]; never below 0.
  double loss(std::size_t n, const std::int32_t* delays);

 private:
  struct Pulse {
    double dm;
    double exact = 0;  // brightness along the exact delays; 0: not known yet
  };

  const Problem& problem_;
  PulseProfile profile_;
  std::vector<std::vector<Pulse>> pulses_;  // [place in order]
};

}  // namespace tautline::stages::dedisperse
