// The chance that an input, or all inputs together, repeat the last sample several times in a row, from how often they
// did so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tautline::stream {

/// Values of independent samples that have the chances p_v repeat with the chance q = sum of p_v^2. The chance of n
/// repeats in a row, the sum of p_v^(n + 1), is at most q^((n + 1) / 2), since no p_v is above the root of q. Of m times
/// that were looked at, the preceding sample was repeated at c. Without other knowledge of q (every value from 0
/// to 1 as likely before) that is
///
///     P(n) = product over k from 0 to (n + 1) / 2 - 1 of (c + 1 + k) / (m + 2 + k)
///
/// The last 4,096 to 8,191 times count, so that the level may change.
class RepeatChance {
 public:
  /// One time in so many is looked at.
  static constexpr std::uint64_t kEvery = 64;
  static constexpr std::uint64_t kWindow = 4096;

  /// `log_of_nothing`: core::log_chance_of_nothing.
  explicit RepeatChance(double log_of_nothing) : log_of_nothing_(log_of_nothing) {}

  void count(std::uint64_t times, std::uint64_t repeats) {
    while (times > 0) {
      const std::uint64_t some = std::min(times, kWindow - now_.times);
      const std::uint64_t of_these = std::min(repeats, some);
      now_.times += some;
      now_.repeats += of_these;
      times -= some;
      repeats -= of_these;
      if (now_.times < kWindow) continue;
      before_ = now_;
      now_ = {};
    }
  }

  /// Whether noise has so many repeats in a row less than once in 1e9 hours.
  bool too_rare(std::size_t repeats) const {
    const auto c = static_cast<double>(before_.repeats + now_.repeats);
    const auto m = static_cast<double>(before_.times + now_.times);
    double log_chance = 0;
    for (std::size_t k = 0; k < (repeats + 1) / 2; ++k) {
      const auto further = static_cast<double>(k);
      log_chance += std::log((c + 1 + further) / (m + 2 + further));
      if (log_chance < log_of_nothing_) return true;
    }
    return false;
  }

 private:
  struct Counts {
    std::uint64_t times = 0, repeats = 0;
  };
  double log_of_nothing_;
  Counts before_, now_;
};

}  // namespace tautline::stream
