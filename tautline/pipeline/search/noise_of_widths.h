// The noise of sums over boxcars of several widths, relative to white noise: red noise makes wide pulses look brighter
// than they are (docs/maths/detect.md).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tautline::pipeline {

/// A boxcar's width, and the noise of its sums over that of white noise with the same noise of one sample.
struct WidthNoise {
  std::size_t width = 1;
  double excess = 1;
  std::size_t sums = 0;  ///< side by side, that it was measured of

  /// More than chance and a pulse or two make of it: 1.5, or 1 + 7.5 / sqrt(sums) of fewer. A S/N is too high by as
  /// much.
  bool is_much() const;
};

/// Of the pieces of a series from each of which a running mean over `baseline_samples` is taken first: 1.4826 MAD of
/// the sums over (1.4826 MAD of the samples) sqrt(width), for the widths of which the pieces hold kLeastSums or more.
/// `whole_numbers`: a sample has steps of 1. Pulses that fill little of the series do not count. Nothing where samples
/// do not scatter.
std::vector<WidthNoise> noise_of_widths(std::span<const std::span<const float>> pieces,
                                        bool whole_numbers, std::size_t baseline_samples,
                                        std::span<const std::size_t> widths);

inline constexpr std::size_t kLeastSums = 16;

}  // namespace tautline::pipeline
