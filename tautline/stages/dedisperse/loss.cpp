#include "tautline/stages/dedisperse/loss.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::dedisperse {

namespace {

constexpr double kGrid = 16;  // points of a profile in a time

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

// A profile as steps at the edges of boxes, all of the same area.
class Profile {
 public:
  Profile(double lowest, double highest)
      : lowest_(lowest - 2), steps_(static_cast<std::size_t>((highest - lowest + 5) * kGrid) + 2) {}

  void add(double centre, double width) {
    const double cells = std::max(1.0, std::round(width * kGrid));
    const auto first =
        static_cast<std::size_t>(std::lround((centre - lowest_) * kGrid - cells / 2));
    steps_[first] += 1 / cells;
    steps_[first + static_cast<std::size_t>(cells)] -= 1 / cells;
  }

  // Integral of the square, sampling (a box of one time) included.
  double energy() const {
    constexpr auto kSample = static_cast<std::size_t>(kGrid);
    std::vector<double> level(steps_.size() + kSample, 0.0);
    double height = 0;
    for (std::size_t k = 0; k < steps_.size(); ++k) level[k] = height += steps_[k];
    double sum = 0, energy = 0;
    for (std::size_t k = 0; k < level.size(); ++k) {
      sum += level[k] - (k >= kSample ? level[k - kSample] : 0);
      energy += sum * sum;
    }
    return energy;
  }

 private:
  double lowest_;
  std::vector<double> steps_;
};

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

std::vector<double> losses(const Problem& problem, const Delays& delays) {
  const PulseWidth width(problem);
  std::vector<double> lost(problem.trials(), 0);
  std::vector<double> true_delay(problem.positions()), widths(problem.positions());
  for (std::size_t i = 0; i < problem.trials(); ++i) {
    if (std::equal(delays.row(i), delays.row(i) + delays.positions, problem.delays().row(i)))
      continue;
    double reach = 1;
    for (std::size_t p = 0; p < problem.positions(); ++p) {
      true_delay[p] = problem.exact_delay(i, p);
      widths[p] = width(i, p);
      reach = std::max(reach, std::abs(true_delay[p] - delays(i, p)) + widths[p] / 2 + 1);
    }
    Profile exact(-reach, reach), other(-reach, reach);
    for (std::size_t p = 0; p < problem.positions(); ++p) {
      exact.add(true_delay[p] - problem.delays()(i, p), widths[p]);
      other.add(true_delay[p] - delays(i, p), widths[p]);
    }
    lost[i] = std::max(0.0, 1 - std::sqrt(other.energy() / exact.energy()));
  }
  return lost;
}

}  // namespace tautline::stages::dedisperse
