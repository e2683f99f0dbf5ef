// IQRM: which channels stand out of their neighbours, by the interquartile range of lagged differences (Morello,
// Rajwade & Stappers 2022, MNRAS 510, 1393).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tautline::pipeline {

/// The paper's threshold, and its radius as a share of the channels.
inline constexpr double kIqrmThreshold = 3, kIqrmRadiusShare = 0.1;

struct IqrmLimits {
  double threshold = kIqrmThreshold;  ///< of the modified z-score of a difference
  std::size_t radius = 0;             ///< longest lag, channels; 0: a tenth of them
};

/// 1, 2, 3, 4, 6, 9, 13, ... up to `radius`, each next one 1.5 times the one before.
std::vector<std::size_t> iqrm_lags(std::size_t radius);

/// IqrmLimits::radius of so many channels: a tenth of them for 0, and no more than there are neighbours.
std::size_t iqrm_radius(std::size_t radius, std::size_t channels);

/// Channels to mask, [channel] 1 or 0. For each lag k of iqrm_lags, forward and backward:
///
///   d(i) = x(i) - x(i - k), the first or last channel standing for those beyond the edge
///   i - k votes against i where d(i) - median d > threshold (Q3 - Q1) / 1.349, over all i
///
/// Channel i is masked when a channel votes against it that votes against fewer channels than vote against i: so the
/// neighbours of one that is too low, which votes against all of them, stay. Only what is too high is found. Equal
/// channels, of which no lag's differences scatter, are compared with a scatter of 0.
std::vector<std::uint8_t> iqrm_mask(std::span<const double> statistic, const IqrmLimits& limits);

}  // namespace tautline::pipeline
