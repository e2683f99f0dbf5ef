// What delays that are not the exact ones cost in signal-to-noise.
#pragma once

#include <vector>

#include "tautline/stages/dedisperse/problem.h"

namespace tautline::stages::dedisperse {

/// Width of the narrowest pulse in a channel in times of the trials, before sampling: its own and
/// the dispersion inside the channel, as boxes added in quadrature.
class PulseWidth {
 public:
  explicit PulseWidth(const Problem& problem);
  double operator()(std::size_t trial, std::size_t position) const;

 private:
  const Problem& problem_;
  std::vector<double> smear_per_dm_;  // [position]
  double own_;
};

/// For each trial 1 - |p'| / |p|: p and p' are the profiles of a pulse of the trial's DM, summed
/// along the rounded exact delays and along `delays`, and |p|^2 = integral of p^2. That is the loss
/// of a matched filter's S/N, averaged over where in a sample the pulse arrives. Never below 0.
std::vector<double> losses(const Problem& problem, const Delays& delays);

}  // namespace tautline::stages::dedisperse
