// The longest stretches without a count, as counts are read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

/// Keeps `most` stretches or up to twice as many: memory does not grow beyond 16 MiB of kMost. Stops of 10 ms each, which
/// may take half of the time, fill it in three hours.
class LongestGaps {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 19;

  /// Stretches shorter than `least` are passed over.
  explicit LongestGaps(std::uint64_t least, std::size_t most = kMost)
      : least_(std::max<std::uint64_t>(least, 1)), most_(most) {}

  /// In order of time.
  void add(std::uint64_t first, std::uint64_t end) {
    if (end < first + least_) return;
    gaps_.push_back({first, end});
    if (gaps_.size() == 2 * most_) forget_short();
  }
  /// Those between the places of counts, which rise.
  template <class Places>
  void add_between(const Places& places) {
    if (places.size() > 1) add_between(places, 0, places.size() - 1);
  }
  /// Leaves what is without a count in both.
  void intersect(const LongestGaps& other) {
    std::vector<BinRange> both;
    least_ = std::max(least_, other.least_);
    for (std::size_t i = 0, k = 0; i < gaps_.size() && k < other.gaps_.size();) {
      const BinRange &a = gaps_[i], &b = other.gaps_[k];
      const BinRange common{std::max(a.first, b.first), std::min(a.end, b.end)};
      if (common.end >= common.first + least_) both.push_back(common);
      ++(a.end < b.end ? i : k);
    }
    gaps_ = std::move(both);
  }

  /// In order of time. Each of least() or more is among them, but of the shortest ones perhaps only the first.
  const std::vector<BinRange>& gaps() const { return gaps_; }
  std::uint64_t least() const { return least_; }

 private:
  template <class Places>
  void add_between(const Places& places, std::size_t first, std::size_t last) {
    if (places[last] - places[first] < least_ + 1) return;
    if (last == first + 1) return add(places[first] + 1, places[last]);
    const std::size_t middle = first + (last - first) / 2;
    add_between(places, first, middle);
    add_between(places, middle, last);
  }
  void forget_short() {
    std::vector<std::uint64_t> lengths;
    for (const BinRange& gap : gaps_) lengths.push_back(gap.bins());
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(most_);
    std::nth_element(lengths.begin(), middle, lengths.end());
    const std::uint64_t least = *middle;
    if (std::erase_if(gaps_, [&](const BinRange& gap) { return gap.bins() < least; }) > 0)
      least_ = least;
    else
      forget_last(least);
  }
  // Of this length, the shortest one there is, until so many are left.
  void forget_last(std::uint64_t bins) {
    auto kept = static_cast<std::size_t>(std::count_if(
        gaps_.begin(), gaps_.end(), [&](const BinRange& gap) { return gap.bins() > bins; }));
    std::erase_if(gaps_, [&](const BinRange& gap) { return gap.bins() == bins && ++kept > most_; });
  }

  std::uint64_t least_;
  std::size_t most_;
  std::vector<BinRange> gaps_;
};

}  // namespace tautline::pipeline
