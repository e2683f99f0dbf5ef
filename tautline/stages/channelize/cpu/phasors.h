// The phasors exp(i angle) of a PhaseModel for consecutive spectra, one a lane.
//
//   angle(s, k) = phase + s phase_step + f_k (slope + s slope_step)
//
// is linear in k for each s, so exp(i angle) is the product of one of about sqrt(C) values for the
// low part of k and one of as many for the high part. Both tables are built by recurrence in double
// precision (at most 256 steps: an error below 1e-13) and rounded once to float.
#pragma once

#include <cstddef>

#include "tautline/stages/channelize/cpu/kernels.h"

namespace tautline::stages::channelize {

class Phasors {
 public:
  static std::size_t table_floats(std::size_t channels, std::size_t lanes);

  /// `table` has table_floats() floats, which are written if the tile has a phase model.
  Phasors(const Bank& bank, const Tile& tile, std::size_t lanes, float* table);

  bool used() const { return used_; }
  /// Cosines of all lanes, then sines.
  const float* low(std::size_t channel) const {
    return table_ + (channel & ((std::size_t{1} << shift_) - 1)) * stride_;
  }
  const float* high(std::size_t channel) const { return high_ + (channel >> shift_) * stride_; }

 private:
  bool used_;
  std::size_t stride_ = 0;
  unsigned shift_ = 0;
  const float* table_ = nullptr;
  const float* high_ = nullptr;
};

}  // namespace tautline::stages::channelize
