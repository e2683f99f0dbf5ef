// Disjoint sets of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tautline::stages::detect {

class Sets {
 public:
  /// `n` sets, of the numbers below n.
  void reset(std::size_t n) {
    parent_.resize(n);
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  /// The number that stands for the set of i.
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  /// The smaller number stands for both sets.
  std::uint32_t join(std::uint32_t a, std::uint32_t b) {
    const auto [low, high] = std::minmax({find(a), find(b)});
    parent_[high] = low;
    return low;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace tautline::stages::detect
