// The running means of a stream's segments, and the drift of its level at either end.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// The interquartile mean: leaves out a quarter of the values, rounded down, at either end. 0
/// without values. Sorts the values.
inline double interquartile_mean(double* values, std::size_t n) {
  if (n == 0) return 0;
  std::sort(values, values + n);
  double sum = 0;
  for (std::size_t i = n / 4; i < n - n / 4; ++i) sum += values[i];
  return sum / static_cast<double>(n - 2 * (n / 4));
}

/// The interquartile mean of one half of a window, and the square of its standard error.
struct HalfWindow {
  double mean = 0, variance = 0;
};

/// Of kWindowSegments / 2 = 16 values. The error is that of Yuen's test, from the winsorised sum of
/// squares: the 4 lowest values count as the fifth, the 4 highest as the twelfth. Sorts the values.
inline HalfWindow half_window(double* values) {
  constexpr std::size_t kValues = kWindowSegments / 2, kOut = kValues / 4, kIn = kValues - 2 * kOut;
  std::sort(values, values + kValues);
  double sum = 0;
  for (std::size_t i = kOut; i < kOut + kIn; ++i) sum += values[i];
  const double lowest = values[kOut], highest = values[kOut + kIn - 1];
  const double middle = (sum + (lowest + highest) * kOut) / kValues;
  double squares =
      (lowest - middle) * (lowest - middle) * kOut + (highest - middle) * (highest - middle) * kOut;
  for (std::size_t i = kOut; i < kOut + kIn; ++i)
    squares += (values[i] - middle) * (values[i] - middle);
  return {sum / kIn, squares / (kIn * (kIn - 1))};
}

/// The drift of a window's level, from one segment to the next: the means of the 16 segments on
/// either side of its middle one are 17 segments apart. 0 where they differ by kDriftErrors
/// standard errors or less. Sorts the values of both halves.
inline double drift_of(double* window) {
  constexpr std::size_t kApart = kWindowSegments / 2 + 1;
  const HalfWindow a = half_window(window), b = half_window(window + kApart);
  const double change = b.mean - a.mean;
  const double least = (a.variance + b.variance) * (kDriftErrors * kDriftErrors);
  return change * change > least ? change / kApart : 0;
}

/// The running mean of each segment: the interquartile mean of the means of the segments around it.
///
///   mean(k) over segments f..f+32, f = k - 16 clamped to [0, K - 33], K the complete segments of
///   the stream; segments without usable samples are left out. Where f is clamped, the window's
///   drift times k - 16 - f is added, if all of its segments have usable samples
class SegmentMeans {
 public:
  /// Adds the next segment: the sum and the number of its usable samples.
  void add(double sum, std::uint64_t count) {
    means_[complete_ % kKept] =
        count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
    ++complete_;
  }
  std::uint64_t complete() const { return complete_; }

  /// Whether mean(k) is final: later segments cannot change it.
  bool settled(std::uint64_t k) const {
    return complete_ >= std::max<std::uint64_t>(k + kWindowSegments / 2 + 1, kWindowSegments);
  }

  double mean(std::uint64_t k) {
    const std::uint64_t length = std::min<std::uint64_t>(kWindowSegments, complete_);
    const std::uint64_t wanted = k < kWindowSegments / 2 ? 0 : k - kWindowSegments / 2;
    const std::uint64_t first = std::min(wanted, complete_ - length);
    move_window(first, length);
    const double middle = interquartile_mean(sorted_.data(), sorted_count_);
    if (first + kWindowSegments / 2 == k || sorted_count_ < kWindowSegments) return middle;
    const double beside = static_cast<double>(k - first) - static_cast<double>(kWindowSegments / 2);
    return middle + beside * drift(first);
  }

 private:
  // Keeps the window's means sorted. Usually one leaves and one enters.
  void move_window(std::uint64_t first, std::uint64_t length) {
    if (first >= end_ || first < first_) {
      sorted_count_ = 0;
      first_ = end_ = first;
    }
    for (; first_ < first; ++first_) {
      const double leaving = means_[first_ % kKept];
      if (std::isnan(leaving)) continue;
      double* last = sorted_.data() + sorted_count_;
      double* place = std::lower_bound(sorted_.data(), last, leaving);
      std::copy(place + 1, last, place);
      --sorted_count_;
    }
    for (; end_ < first + length; ++end_) {
      const double coming = means_[end_ % kKept];
      if (std::isnan(coming)) continue;
      double* last = sorted_.data() + sorted_count_;
      double* place = std::upper_bound(sorted_.data(), last, coming);
      std::copy_backward(place, last, last + 1);
      *place = coming;
      ++sorted_count_;
    }
  }

  // Of the window that begins at segment `first`; measured once for each end of the stream.
  double drift(std::uint64_t first) {
    if (drift_first_ == first) return drift_;
    std::array<double, kWindowSegments> window;
    for (std::size_t i = 0; i < kWindowSegments; ++i) window[i] = means_[(first + i) % kKept];
    drift_ = drift_of(window.data());
    drift_first_ = first;
    return drift_;
  }

  static constexpr std::size_t kKept = 64;  // more than a window and the segments after it
  std::array<double, kKept> means_{};       // of segments, NaN where nothing is usable
  std::uint64_t complete_ = 0;
  std::array<double, kWindowSegments + 1> sorted_{};  // of segments [first_, end_)
  std::size_t sorted_count_ = 0;
  std::uint64_t first_ = 0, end_ = 0;
  double drift_ = 0;  // of the window that begins at drift_first_
  std::uint64_t drift_first_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace tautline::stages::detect
