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

  /// What the channel's dispersion adds for a DM of 1, and the pulse's own width.
  double smear_per_dm(std::size_t position) const { return smear_per_dm_[position]; }
  double own() const { return own_; }

 private:
  const Problem& problem_;
  std::vector<double> smear_per_dm_;  // [position]
  double own_;
};

/// A problem's delays before rounding, per unit of DM: they are this times the DM. [position]
std::vector<double> delays_per_dm(const Problem& problem);

/// For each trial 1 - |p'| / |p|: p and p' are the profiles of a pulse of the trial's DM, summed
/// along the rounded exact delays and along others, and |p|^2 = integral of p^2. That is the loss
/// of a matched filter's S/N, averaged over where in a sample the pulse arrives. Never below 0.
class LossMeter {
 public:
  explicit LossMeter(const Problem& problem);

  std::vector<double> losses(const Delays& delays);

 private:
  double energy(std::size_t trial, const std::int32_t* delays);

  const Problem& problem_;
  PulseWidth width_;
  std::vector<double> per_dm_;  // [position]
  std::vector<double> exact_;   // [trial]: energy along the exact delays; 0: not known yet
  std::vector<std::int32_t> first_, cells_;  // scratch, [position]: a box on the grid
  std::vector<double> steps_;                // scratch, on the grid
};

}  // namespace tautline::stages::dedisperse
