// Subtracts one trial's running mean, segment by segment.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/segment_means.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

inline bool usable(std::int32_t x) {
  return x <= kLargestInteger && x >= -kLargestInteger;
}
inline bool usable(float x) {
  return x <= kLargestFloat && x >= -kLargestFloat;
}

/// The part of the mean that is subtracted first, exactly: an integer where samples are integers.
inline std::int32_t base_of(double mean, std::int32_t) {
  return static_cast<std::int32_t>(mean < 0 ? mean - 0.5 : mean + 0.5);
}
inline float base_of(double mean, float) {
  return static_cast<float>(mean);
}

/// The line that is subtracted from one half of a segment, of running mean `mean`, that rises by `rise` in a segment:
/// mean + rise / segment (i + 1/2 - segment/2).
template <class T>
Line line_of(double mean, double rise, T base, std::size_t segment) {
  const double slope = rise / static_cast<double>(segment);
  const double offset =
      (mean - static_cast<double>(base)) + slope * (0.5 - static_cast<double>(segment / 2));
  return {static_cast<float>(offset), static_cast<float>(slope), 0};
}

/// As a vector of as many values: a state's bytes do not say where its memory is.
template <class Archive, class Value>
void exchange_values(Archive& archive, std::span<Value> values) {
  std::uint64_t count = values.size();
  archive(count);
  if constexpr (requires { archive.refuse(); })
    if (count != values.size()) archive.refuse();
  archive(std::as_writable_bytes(values));
}

/// Subtracts the running mean: samples in, baselined samples out, in order, up to half a window
/// later. Missing samples become NaN.
template <class T>
class BaselineFilter {
 public:
  /// `memory`: of bytes(segment), the caller's.
  BaselineFilter(std::size_t segment, T* memory)
      : segment_(segment), ring_(memory, kRingSegments * segment) {}

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
    // Before the first middle and after the last one the line goes on.
    const double mean = next_ == 0      ? means_.mean(0)
                        : next_ < whole ? following_
                                        : previous_ + rise_;
    const double after = next_ + 1 < whole ? means_.mean(next_ + 1) : mean;
    const double rise_before = next_ > 0 && next_ < whole ? mean - previous_ : rise_;
    const double rise_after = next_ + 1 < whole ? after - mean : rise_before;
    const T* x = slot(next_);
    const T base = base_of(mean, T{});
    const bool all_usable =
        next_ < whole ? usable_[next_ % kRingSegments] : kernels.of<T>().usable(x, n);
    std::uint64_t missing = 0;
    for (int half = 0; half < 2; ++half) {
      const std::size_t first = half == 0 ? 0 : segment_ / 2;
      const std::size_t last = half == 0 ? std::min(n, segment_ / 2) : n;
      if (first >= last) continue;
      const double rise = half == 1 ? rise_after : next_ == 0 ? after - mean : rise_before;
      Line line = line_of(mean, rise, base, segment_);
      line.first = first;
      if (all_usable) {
        kernels.of<T>().subtract(x + first, last - first, base, line, y + first);
      } else {
        missing += subtract_usable(x + first, last - first, base, line, y + first, kernels);
      }
    }
    previous_ = mean;
    following_ = after;
    rise_ = rise_after;
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
    exchange_values(archive, ring_);
    archive(usable_, means_, filled_, next_, previous_, following_, rise_, finished_, only_tail_,
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
  std::span<T> ring_;
  std::array<bool, kRingSegments> usable_{};  // [segment] whether all samples are usable
  SegmentMeans means_;
  std::size_t filled_ = 0;               // samples of the incomplete segment
  std::uint64_t next_ = 0;               // segment to emit
  double previous_ = 0, following_ = 0;  // running means of the segment before it, and of itself
  double rise_ = 0;                      // from one to the other
  bool finished_ = false;
  bool only_tail_ = false;  // the stream is shorter than one segment
  std::size_t tail_ = 0;
};

}  // namespace tautline::stages::detect
