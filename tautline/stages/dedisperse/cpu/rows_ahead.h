// Input that comes from farther away than the second-level cache, asked for before it is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tautline/stages/dedisperse/clean.h"

namespace tautline::stages::dedisperse {

/// The lines that a block of trials reads of some positions' rows, asked for a few at a time while
/// the trials' sums of other positions are made: so they cost nothing but the asking.
class RowsAhead {
 public:
  /// Nothing to ask for.
  RowsAhead() = default;
  /// Of positions [first, last), `times` from each delay between `a` and `b` on: those of the
  /// block's outermost trials, of which either may be later. rows.data is the tile's first time.
  RowsAhead(const Rows& rows, const std::int32_t* a, const std::int32_t* b, std::size_t times,
            std::size_t first, std::size_t last)
      : rows_(rows), a_(a), b_(b), times_(times), position_(first), last_(last) {
    for (std::size_t p = first; p < last; ++p) lines_ += bytes(p) / kLineBytes + 1;
    open();
  }

  std::size_t lines() const { return lines_; }

  void ask(std::size_t lines) {
    for (; lines > 0 && position_ < last_; --lines) {
      __builtin_prefetch(at_, 0, kSecondLevel);
      at_ += kLineBytes;
      if (at_ < end_) continue;
      ++position_;
      open();
    }
  }

 private:
  static constexpr std::size_t kLineBytes = 64;
  static constexpr int kSecondLevel = 2;  // of cache; the first has no room

  std::size_t bytes(std::size_t p) const {
    const auto span = static_cast<std::size_t>(std::max(a_[p], b_[p]) - std::min(a_[p], b_[p]));
    return (times_ + span) * rows_.element_bytes;
  }
  // A line more than there are bytes, for a window seldom begins where a line does.
  void open() {
    if (position_ == last_) return;
    const auto first = static_cast<std::size_t>(std::min(a_[position_], b_[position_]));
    at_ = rows_.at(position_, first);
    end_ = at_ + bytes(position_) + kLineBytes;
  }

  Rows rows_{};
  const std::int32_t *a_ = nullptr, *b_ = nullptr;
  std::size_t times_ = 0, position_ = 0, last_ = 0, lines_ = 0;
  const std::byte *at_ = nullptr, *end_ = nullptr;
};

}  // namespace tautline::stages::dedisperse
