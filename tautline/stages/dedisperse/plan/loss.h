// What delays that are not the exact ones cost in signal-to-noise.
#pragma once

#include <vector>

#include "tautline/stages/dedisperse/plan/pulse_profile.h"

namespace tautline::stages::dedisperse {

/// The loss of S/N along other delays: 1 - S' / S, the worst of pulses of the trial's DM and of DMs
/// on either side, by eighths of the step as far as half-way to the neighbour. S and S' are the
/// best boxcar's S/N in the trial along its rounded exact delays and along the others
/// (PulseProfile::brightness). So the trial nearest to a pulse never loses more.
class LossMeter {
 public:
  explicit LossMeter(const DelayPlan& plan);

  const Dispersion& dispersion() const { return dispersion_; }

  /// Of the n-th trial in order of DM along `delays` [position]; never below 0. As soon as a pulse
  /// loses more than `most` that one's loss is returned.
  double loss(std::size_t n, const std::int32_t* delays, double most);

 private:
  struct Pulse {
    double dm;
    double exact = 0;  // brightness along the exact delays; 0: not known yet
  };

  const DelayPlan& plan_;
  Dispersion dispersion_;
  PulseProfile profile_;
  std::vector<std::vector<Pulse>> pulses_;  // [place in order]
};

}  // namespace tautline::stages::dedisperse
