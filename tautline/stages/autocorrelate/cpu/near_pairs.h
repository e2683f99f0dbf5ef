// Products at the finest levels, whose windows are nearly all empty: not part of the stage's interface.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

/// A window whose count is not zero.
struct Window {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
};

/// The first window whose index is above `index`.
inline const Window* first_after(std::span<const Window> windows, std::uint64_t index) {
  return std::partition_point(windows.data(), windows.data() + windows.size(),
                              [&](const Window& one) { return one.index <= index; });
}

/// Looks at each two nonzero bins that are near each other once, and adds their product to the sums of all levels of
/// which they are a pair of windows, instead of making the windows of each level. A sum over pairs of windows is the
/// sum over the pairs of their bins. The bin of e is never after that of d: no window of e that is multiplied ends
/// later.
class NearPairs {
 public:
  explicit NearPairs(const Config& config);

  /// Whether no distance belongs to many levels, as in a chain of one bin a level.
  bool useful() const { return together_ <= kMostTogether; }
  /// The largest distance of two bins that are a pair at one of the first `levels` levels.
  std::uint64_t reach(std::size_t levels) const { return farthest_[levels - 1]; }
  /// The mean number of nonzero bins of e within reach before a bin of d, over some of d. `e` must
  /// have all bins within reach, in order.
  double mean_pairs(std::span<const Window> e, std::span<const Window> d, std::size_t levels) const;
  /// Adds the products of the bins of d at the first `levels` levels to sums(level, k).
  template <class Sums>
  void count(std::span<const Window> e, std::span<const Window> d, std::size_t levels,
             const Sums& sums) {
    count_pairs(e, d, levels);
    for (std::size_t l = 0; l < levels; ++l)
      for (std::size_t i = 0; i < ranges_[l].steps; ++i)
        sums(l, i) += rows_[l * row_ + ranges_[l].first_steps + i];
  }
  /// The same at one level.
  template <class Sums>
  void count_level(std::span<const Window> e, std::span<const Window> d, std::size_t level,
                   const Sums& sums) const;

 private:
  static constexpr std::size_t kMostTogether = 8;

  void count_pairs(std::span<const Window> e, std::span<const Window> d, std::size_t levels);

  std::vector<LagRange> ranges_;         // [level]
  std::vector<std::uint64_t> farthest_;  // [level] distance of two bins of a pair
  std::array<std::uint32_t, 65>
      finest_{};              // [bits of a distance] the finest level that reaches so far
  std::size_t together_ = 0;  // levels, from that one on, which may have such a pair
  std::vector<std::uint64_t> bases_, last_;  // [level], together_ - 1 more
  std::size_t row_ = 0;
  std::vector<std::uint64_t> rows_;  // [level][k, and one for all other k] of one call
};

template <class Sums>
void NearPairs::count_level(std::span<const Window> e, std::span<const Window> d, std::size_t level,
                            const Sums& sums) const {
  const LagRange& range = ranges_[level];
  for (const Window& direct : d)
    for (const Window* one = first_after(e, direct.index); one != e.data();) {
      --one;
      if (direct.index - one->index > farthest_[level]) break;
      const std::uint64_t k = (direct.index >> level) - ((one->index + range.base) >> level);
      if (k - range.first_steps < range.steps)
        sums(level, static_cast<std::size_t>(k - range.first_steps)) += direct.count * one->count;
    }
}

}  // namespace tautline::stages::autocorrelate
