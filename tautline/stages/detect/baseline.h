// Subtracts one trial's running mean, segment by segment.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

inline bool usable(std::int32_t x) {
  return x <= kLargestInteger && x >= -kLargestInteger;
}
inline bool usable(float x) {
  return x <= kLargestFloat && x >= -kLargestFloat;
}

/// The interquartile mean: leaves out a quarter of the values, rounded down, at either end. 0
/// without values. Sorts the values.
inline double interquartile_mean(double* values, std::size_t n) {
  if (n == 0) return 0;
  std::sort(values, values + n);
  double sum = 0;
  for (std::size_t i = n / 4; i < n - n / 4; ++i) sum += values[i];
  return sum / static_cast<double>(n - 2 * (n / 4));
}

/// The running mean of each segment: the interquartile mean of the means of the segments around it.
///
///   mean(k) over segments f..f+32, f = k - 16 clamped to [0, K - 33], K the complete segments of
///   the stream; segments without usable samples are left out
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
    move_window(std::min(wanted, complete_ - length), length);
    return interquartile_mean(sorted_.data(), sorted_count_);
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

  static constexpr std::size_t kKept = 64;  // more than a window and the segments after it
  std::array<double, kKept> means_{};       // of segments, NaN where nothing is usable
  std::uint64_t complete_ = 0;
  std::array<double, kWindowSegments + 1> sorted_{};  // of segments [first_, end_)
  std::size_t sorted_count_ = 0;
  std::uint64_t first_ = 0, end_ = 0;
};

/// The line that is subtracted from one half (0 or 1) of a segment, between its middle and that of
/// the neighbouring segment: mean(k) + slope (i + 1/2 - segment/2).
struct HalfLine {
  double middle = 0, slope = 0;
};
inline HalfLine half_line(double before, double mine, double after, int half, std::size_t segment) {
  return {mine, (half == 0 ? mine - before : after - mine) / static_cast<double>(segment)};
}

/// The part of the mean that is subtracted first, exactly: an integer where samples are integers.
inline std::int32_t base_of(double mean, std::int32_t) {
  return static_cast<std::int32_t>(mean < 0 ? mean - 0.5 : mean + 0.5);
}
inline float base_of(double mean, float) {
  return static_cast<float>(mean);
}
template <class T>
Line line_of(const HalfLine& half, T base, std::size_t segment) {
  const double offset = (half.middle - static_cast<double>(base)) +
                        half.slope * (0.5 - static_cast<double>(segment / 2));
  return {static_cast<float>(offset), static_cast<float>(half.slope), 0};
}

/// Subtracts the running mean: samples in, baselined samples out, in order, up to half a window
/// later. Missing samples become NaN.
template <class T>
class BaselineFilter {
 public:
  explicit BaselineFilter(std::size_t segment)
      : segment_(segment), ring_(kRingSegments * segment) {}

  static std::size_t bytes(std::size_t segment) { return kRingSegments * segment * sizeof(T); }

  /// Accepts samples up to the end of a segment, and returns their number. All ready samples must
  /// have been emitted before.
  std::size_t accept(const T* x, std::size_t n, const Kernels& kernels) {
    T* to = slot(means_.complete()) + filled_;
    const std::size_t taken = std::min(n, segment_ - filled_);
    std::memcpy(to, x, taken * sizeof(T));
    filled_ += taken;
    if (filled_ == segment_) {
      sum_up(kernels, segment_);
      filled_ = 0;
    }
    return taken;
  }

  /// Ends the stream.
  void finish(const Kernels& kernels) {
    finished_ = true;
    tail_ = filled_;
    only_tail_ = means_.complete() == 0;
    if (only_tail_ && tail_ > 0) sum_up(kernels, tail_);
  }

  /// Samples that the next emit writes; 0: none are ready.
  std::size_t ready() const {
    const std::uint64_t whole = only_tail_ ? 0 : means_.complete();
    if (next_ < whole) return finished_ || means_.settled(next_ + 1) ? segment_ : 0;
    return finished_ && next_ == whole ? tail_ : 0;
  }

  /// Writes ready() samples, and returns the number of missing ones.
  std::uint64_t emit(float* y, const Kernels& kernels) {
    const std::size_t n = ready();
    const std::uint64_t whole = only_tail_ ? 1 : means_.complete();
    // Samples after the last complete segment keep its mean.
    const double mean = next_ == 0 ? means_.mean(0) : next_ < whole ? following_ : previous_;
    const double before = next_ == 0 || next_ >= whole ? mean : previous_;
    const double after = next_ + 1 < whole ? means_.mean(next_ + 1) : mean;
    const T* x = slot(next_);
    const T base = base_of(mean, T{});
    const bool all_usable =
        next_ < whole ? usable_[next_ % kRingSegments] : kernels.of<T>().usable(x, n);
    std::uint64_t missing = 0;
    for (int half = 0; half < 2; ++half) {
      const std::size_t first = half == 0 ? 0 : segment_ / 2;
      const std::size_t last = half == 0 ? std::min(n, segment_ / 2) : n;
      if (first >= last) continue;
      Line line = line_of(half_line(before, mean, after, half, segment_), base, segment_);
      line.first = first;
      if (all_usable) {
        kernels.of<T>().subtract(x + first, last - first, base, line, y + first);
      } else {
        missing += subtract_usable(x + first, last - first, base, line, y + first, kernels);
      }
    }
    previous_ = mean;
    following_ = after;
    ++next_;
    return missing;
  }

  /// Samples of the running mean: a window, or the complete segments of a shorter stream.
  std::uint64_t window_samples() const {
    if (only_tail_) return tail_;
    return std::min<std::uint64_t>(kWindowSegments, means_.complete()) * segment_;
  }

  template <class Archive>
  void exchange(Archive& archive) {
    archive(ring_, usable_, means_, filled_, next_, previous_, following_, finished_, only_tail_,
            tail_);
  }

 private:
  // Segments of the first window, which wait for its end, and the one that is being filled.
  static constexpr std::size_t kRingSegments = kWindowSegments + 1;

  T* slot(std::uint64_t segment) { return ring_.data() + segment % kRingSegments * segment_; }

  void sum_up(const Kernels& kernels, std::size_t n) {
    T* x = slot(means_.complete());
    const bool all_usable = kernels.of<T>().usable(x, n);
    usable_[means_.complete() % kRingSegments] = all_usable;
    if (all_usable) {
      means_.add(static_cast<double>(kernels.of<T>().sum(x, n)), n);
      return;
    }
    std::uint64_t count = 0;
    std::vector<T> kept(x, x + n);  // missing samples as zero
    for (T& value : kept) {
      if (usable(value)) {
        ++count;
      } else {
        value = 0;
      }
    }
    means_.add(static_cast<double>(kernels.of<T>().sum(kept.data(), n)), count);
  }

  std::uint64_t subtract_usable(const T* x, std::size_t n, T base, Line line, float* y,
                                const Kernels& kernels) {
    std::uint64_t missing = 0;
    const std::size_t first = line.first;
    for (std::size_t i = 0; i < n; ++i) {
      line.first = first + i;
      if (usable(x[i])) {
        kernels.of<T>().subtract(x + i, 1, base, line, y + i);
      } else {
        y[i] = std::numeric_limits<float>::quiet_NaN();
        ++missing;
      }
    }
    return missing;
  }

  std::size_t segment_;
  std::vector<T> ring_;
  std::array<bool, kRingSegments> usable_{};  // [segment] whether all samples are usable
  SegmentMeans means_;
  std::size_t filled_ = 0;               // samples of the incomplete segment
  std::uint64_t next_ = 0;               // segment to emit
  double previous_ = 0, following_ = 0;  // running means of the segment before it, and of itself
  bool finished_ = false;
  bool only_tail_ = false;  // the stream is shorter than one segment
  std::size_t tail_ = 0;
};

}  // namespace tautline::stages::detect
