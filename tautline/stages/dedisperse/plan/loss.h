// What delays that are not the exact ones cost in signal-to-noise: the profile of a pulse summed along
// whole-sample delays, and what a boxcar search makes of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// What a pulse of DM 1 is delayed and widened by at each summed channel, in times of the trials.
/// A channel is as wide as the distance to its nearest neighbour, summed or not. [position]
struct Dispersion {
  explicit Dispersion(const DelayPlan& plan)
      : own_width(plan.config().pulse_width_s / plan.sample_time_s()) {
    const double constant = plan.config().dm_constant, time_s = plan.sample_time_s();
    const std::vector<double> widths = channel_widths_mhz(plan);
    for (std::size_t p = 0; p < plan.positions(); ++p) {
      const double f = plan.config().frequencies_mhz[plan.channel_at()[p]];
      const double half = std::min(widths[p], f) / 2;
      delays.push_back(core::dispersion_delay_s(1, f, plan.reference_mhz(), constant) / time_s);
      smears.push_back(core::dispersion_delay_s(1, f - half, f + half, constant) / time_s);
    }
  }

  std::vector<double> delays;  ///< before rounding
  std::vector<double> smears;  ///< the dispersion inside the channel
  double own_width;            ///< of a pulse before dispersion: Config::pulse_width_s

 private:
  // Distances to the nearest other frequency, ignored or not: how wide channels are, as far as
  // centres tell; 0 where there is one frequency alone. [position]
  static std::vector<double> channel_widths_mhz(const DelayPlan& plan) {
    std::vector<double> all = plan.config().frequencies_mhz;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<double> widths;
    for (const std::size_t channel : plan.channel_at()) {
      const double f = plan.config().frequencies_mhz[channel];
      const auto at = std::lower_bound(all.begin(), all.end(), f);
      double width = std::numeric_limits<double>::infinity();
      if (at != all.begin()) width = f - *(at - 1);
      if (at + 1 != all.end()) width = std::min(width, *(at + 1) - f);
      widths.push_back(all.size() > 1 ? width : 0);
    }
    return widths;
  }
};

/// A pulse of one dispersion measure: in every channel a box of the same area, whose width is the
/// pulse's own and the dispersion inside the channel, added in quadrature. Along delays that are
/// not quite its own the boxes are summed a little apart, and sampling sums each time's part of
/// them. Positions and widths are rounded to cells, a thirty-second of a time and, for wide
/// profiles, a fraction of their width.
class PulseProfile {
 public:
  explicit PulseProfile(const Dispersion& dispersion)
      : dispersion_(dispersion),
        centres_(dispersion.delays.size()),
        widths_(dispersion.delays.size()),
        heights_(dispersion.delays.size()),
        firsts_(dispersion.delays.size()) {}

  /// Takes another DM. `delays` [position]: those along which the pulse will be summed, or much the
  /// same; how fine the cells are follows from them.
  void set_pulse(double dm, const std::int32_t* delays) {
    const std::size_t positions = centres_.size();
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t p = 0; p < positions; ++p) {
      const double smear = dm * dispersion_.smears[p], own = dispersion_.own_width;
      heights_[p] = std::sqrt(smear * smear + own * own);
      centres_[p] = dm * dispersion_.delays[p];
      low = std::min(low, centres_[p] - delays[p] - heights_[p] / 2);
      high = std::max(high, centres_[p] - delays[p] + heights_[p] / 2);
    }
    cells_in_time_ = kCellsInTime;
    while (cells_in_time_ * (high - low + 1) > kCells) cells_in_time_ /= 2;
    phases_ = static_cast<std::size_t>(std::max(1.0, cells_in_time_));
    for (std::size_t p = 0; p < positions; ++p) {
      centres_[p] *= cells_in_time_;
      widths_[p] = std::max(1, nearest(heights_[p] * cells_in_time_));
      heights_[p] = 1.0 / widths_[p];
    }
  }

  /// What the best boxcar finds along `delays` [position]: sum / sqrt(width) of a pulse with one
  /// unit of area in each channel, the mean over when in a time the pulse arrives. Noise adds up
  /// the same along any delays, so S/N is in proportion.
  double brightness(const std::int32_t* delays) {
    add_boxes(delays);
    double sum = 0;
    for (std::size_t phase = 0; phase < phases_; ++phase) sum += best_boxcar(phase);
    return sum / static_cast<double>(phases_);
  }

 private:
  static constexpr double kCellsInTime = 32;  // at most
  static constexpr double kCells = 1024;      // of a profile, where its times are fewer than this

  // The nearest whole number, without a call into the mathematics library.
  static std::int32_t nearest(double x) {
    return static_cast<std::int32_t>(x + (x < 0 ? -0.5 : 0.5));
  }

  // Steps at the boxes' edges, added up twice: to heights and to areas.
  void add_boxes(const std::int32_t* delays) {
    const auto phases = static_cast<std::int32_t>(phases_);
    std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = -low;
    for (std::size_t p = 0; p < firsts_.size(); ++p) {
      firsts_[p] = nearest(centres_[p] - delays[p] * cells_in_time_ - 0.5 * widths_[p]);
      low = std::min(low, firsts_[p]);
      high = std::max(high, firsts_[p] + widths_[p]);
    }
    // Whole times, one more on either side: then cell 0 is the same part of a time for every row.
    low = phases * static_cast<std::int32_t>(std::floor(low / static_cast<double>(phases)) - 1);
    areas_.assign(static_cast<std::size_t>(high - low + 2 * phases), 0.0);
    for (std::size_t p = 0; p < firsts_.size(); ++p) {
      areas_[firsts_[p] - low] += heights_[p];
      areas_[firsts_[p] - low + widths_[p]] -= heights_[p];
    }
    double height = 0, area = 0;
    for (double& cell : areas_) {
      height += cell;
      cell = area;
      area += height;
    }
  }

  // Of the times that begin at `phase`. A window that begins as the highest time and takes in the
  // higher of its neighbours is the best of its width where a profile rises and falls once; of any
  // other this finds no more than the best.
  double best_boxcar(std::size_t phase) const {
    const std::size_t times = (areas_.size() - 1 - phase) / phases_;
    const auto time = [&](std::size_t t) {
      return areas_[phase + (t + 1) * phases_] - areas_[phase + t * phases_];
    };
    std::size_t first = 0;
    double highest = 0;
    for (std::size_t t = 0; t < times; ++t)
      if (time(t) > highest) highest = time(first = t);
    std::size_t last = first;
    double sum = highest, squared = sum * sum;
    while (first > 0 || last + 1 < times) {
      const double before = first > 0 ? time(first - 1) : 0;
      const double behind = last + 1 < times ? time(last + 1) : 0;
      if (before <= 0 && behind <= 0) break;
      sum += std::max(before, behind);
      before > behind ? --first : ++last;
      squared = std::max(squared, sum * sum / static_cast<double>(last - first + 1));
    }
    return std::sqrt(squared);
  }

  const Dispersion& dispersion_;
  double cells_in_time_ = 0;          // below 1 for profiles of many times
  std::vector<double> centres_;       // [position]: cells, before delays
  std::vector<std::int32_t> widths_;  // [position]: cells
  std::vector<double> heights_;       // [position]: of a cell of the box
  std::vector<std::int32_t> firsts_;  // [position]: of the row that is summed
  std::size_t phases_ = 1;            // whole cells in a time: where in one a pulse may begin
  std::vector<double> areas_;         // [cell]: of the profile up to there
};

/// The loss of S/N along other delays: 1 - S' / S, the worst of pulses of the trial's DM and of DMs
/// on either side, by eighths of the step as far as half-way to the neighbour. S and S' are the
/// best boxcar's S/N in the trial along its rounded exact delays and along the others
/// (PulseProfile::brightness). So the trial nearest to a pulse never loses more.
class LossMeter {
 public:
  explicit LossMeter(const DelayPlan& plan)
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

  const Dispersion& dispersion() const { return dispersion_; }

  /// Of the n-th trial in order of DM along `delays` [position]; never below 0. As soon as a pulse
  /// loses more than `most` that one's loss is returned.
  double loss(std::size_t n, const std::int32_t* delays, double most) {
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
