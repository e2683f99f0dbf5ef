#include "tautline/stages/dedisperse/loss.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kGrid = 16;  // points of a profile in a time

// Distance to the nearest neighbour: how wide a channel is, as far as centres tell.
double channel_width_mhz(const Problem& problem, std::size_t position) {
  const auto frequency = [&](std::size_t p) {
    return problem.config().frequencies_mhz[problem.channel_at()[p]];
  };
  double width = 0;
  if (position > 0) width = frequency(position - 1) - frequency(position);
  if (position + 1 < problem.positions()) {
    const double below = frequency(position) - frequency(position + 1);
    width = width > 0 ? std::min(width, below) : below;
  }
  return width;
}

// The nearest whole number, without a call into the mathematics library.
std::int32_t nearest(double x) {
  return static_cast<std::int32_t>(x + (x < 0 ? -0.5 : 0.5));
}

}  // namespace

PulseWidth::PulseWidth(const Problem& problem)
    : problem_(problem), own_(problem.config().pulse_width_s / problem.sample_time_s()) {
  for (std::size_t p = 0; p < problem.positions(); ++p) {
    const double f = problem.config().frequencies_mhz[problem.channel_at()[p]];
    const double half = std::min(channel_width_mhz(problem, p), f) / 2;
    smear_per_dm_.push_back(
        core::dispersion_delay_s(1, f - half, f + half, problem.config().dm_constant) /
        problem.sample_time_s());
  }
}

double PulseWidth::operator()(std::size_t trial, std::size_t position) const {
  return std::hypot(problem_.config().dms[trial] * smear_per_dm_[position], own_);
}

std::vector<double> delays_per_dm(const Problem& problem) {
  std::vector<double> delays;
  for (std::size_t p = 0; p < problem.positions(); ++p)
    delays.push_back(
        core::dispersion_delay_s(1, problem.config().frequencies_mhz[problem.channel_at()[p]],
                                 problem.reference_mhz(), problem.config().dm_constant) /
        problem.sample_time_s());
  return delays;
}

LossMeter::LossMeter(const Problem& problem)
    : problem_(problem),
      width_(problem),
      per_dm_(delays_per_dm(problem)),
      exact_(problem.trials(), 0),
      first_(problem.positions()),
      cells_(problem.positions()) {}

// Boxes of the channels' widths at what the delays leave of the true ones, as steps at their edges,
// all of the same area; then the integral of the square, sampling (a box of one time) included.
double LossMeter::energy(std::size_t trial, const std::int32_t* delays) {
  const double dm = problem_.config().dms[trial];
  const auto grid = static_cast<double>(kGrid);
  std::int32_t lowest = 0, highest = 0;
  for (std::size_t p = 0; p < first_.size(); ++p) {
    const double smear = dm * width_.smear_per_dm(p);
    const double width = std::sqrt(smear * smear + width_.own() * width_.own());
    const double centre = (dm * per_dm_[p] - delays[p]) * grid;
    const double cells = std::max(1, nearest(width * grid));
    cells_[p] = static_cast<std::int32_t>(cells);
    first_[p] = nearest(centre - cells / 2);
    lowest = std::min(lowest, first_[p]);
    highest = std::max(highest, first_[p] + cells_[p]);
  }
  steps_.assign(static_cast<std::size_t>(highest - lowest) + 1 + 2 * kGrid, 0.0);
  double* at = steps_.data() + kGrid;
  for (std::size_t p = 0; p < first_.size(); ++p) {
    const double height = 1.0 / cells_[p];
    at[first_[p] - lowest] += height;
    at[first_[p] - lowest + cells_[p]] -= height;
  }
  double height = 0, sum = 0, energy = 0;
  for (std::size_t k = kGrid; k < steps_.size(); ++k) {
    // In place: from here on a step is the level up to it.
    steps_[k] = height += steps_[k];
    sum += steps_[k] - steps_[k - kGrid];
    energy += sum * sum;
  }
  return energy;
}

std::vector<double> LossMeter::losses(const Delays& delays) {
  std::vector<double> lost(problem_.trials(), 0);
  for (std::size_t i = 0; i < problem_.trials(); ++i) {
    const std::int32_t* exact = problem_.delays().row(i);
    if (std::equal(delays.row(i), delays.row(i) + delays.positions, exact)) continue;
    if (exact_[i] == 0) exact_[i] = energy(i, exact);
    lost[i] = std::max(0.0, 1 - std::sqrt(energy(i, delays.row(i)) / exact_[i]));
  }
  return lost;
}

}  // namespace tautline::stages::dedisperse
