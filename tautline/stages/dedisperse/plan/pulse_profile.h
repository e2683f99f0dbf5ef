// The profile of a pulse summed along whole-sample delays, and what a boxcar search makes of it.
#pragma once

#include <cstdint>
#include <vector>

#include "tautline/stages/dedisperse/plan/delays.h"

namespace tautline::stages::dedisperse {

/// What a pulse of DM 1 is delayed and widened by at each summed channel, in times of the trials.
/// A channel is as wide as the distance to its nearest neighbour, summed or not. [position]
struct Dispersion {
  explicit Dispersion(const DelayPlan& plan);

  std::vector<double> delays;  ///< before rounding
  std::vector<double> smears;  ///< the dispersion inside the channel
  double own_width;            ///< of a pulse before dispersion: Config::pulse_width_s
};

/// A pulse of one dispersion measure: in every channel a box of the same area, whose width is the
/// pulse's own and the dispersion inside the channel, added in quadrature. Along delays that are
/// not quite its own the boxes are summed a little apart, and sampling sums each time's part of
/// them. Positions and widths are rounded to cells, a thirty-second of a time and, for wide
/// profiles, a fraction of their width.
class PulseProfile {
 public:
  explicit PulseProfile(const Dispersion& dispersion);

  /// Takes another DM. `delays` [position]: those along which the pulse will be summed, or much the
  /// same; how fine the cells are follows from them.
  void set_pulse(double dm, const std::int32_t* delays);

  /// What the best boxcar finds along `delays` [position]: sum / sqrt(width) of a pulse with one
  /// unit of area in each channel, the mean over when in a time the pulse arrives. Noise adds up
  /// the same along any delays, so S/N is in proportion.
  double brightness(const std::int32_t* delays);

 private:
  void add_boxes(const std::int32_t* delays);
  double best_boxcar(std::size_t phase) const;

  const Dispersion& dispersion_;
  double cells_in_time_ = 0;          // below 1 for profiles of many times
  std::vector<double> centres_;       // [position]: cells, before delays
  std::vector<std::int32_t> widths_;  // [position]: cells
  std::vector<double> heights_;       // [position]: of a cell of the box
  std::vector<std::int32_t> firsts_;  // [position]: of the row that is summed
  std::size_t phases_ = 1;            // whole cells in a time: where in one a pulse may begin
  std::vector<double> areas_;         // [cell]: of the profile up to there
};

}  // namespace tautline::stages::dedisperse
