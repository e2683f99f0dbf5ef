// The finest levels of a TagCorrelator, whose products come from NearPairs.
#include <algorithm>

#include "tautline/stages/autocorrelate/cpu/tag_correlator.h"

namespace tautline::stages::autocorrelate {

namespace {

__extension__ typedef unsigned __int128 HugeProduct;

// The most bins within reach, itself among them, at which pairs are quicker than windows of another level.
constexpr double kMostNear = 3;

// The start of the window at `level` that has t: windows before it have ended at t.
std::uint64_t start_of_window(std::size_t level, std::uint64_t t) {
  return t >> level << level;
}

std::span<const Window> part(std::span<const Window> windows, std::uint64_t from,
                             std::uint64_t to) {
  if (from >= to) return {};
  const auto before = [](std::uint64_t t) {
    return [t](const Window& window) { return window.index < t; };
  };
  const auto first = std::partition_point(windows.begin(), windows.end(), before(from));
  return {first, std::partition_point(first, windows.end(), before(to))};
}

std::uint64_t counts_of(std::span<const Window> windows) {
  std::uint64_t sum = 0;
  for (const Window& window : windows) sum += window.count;
  return sum;
}

}  // namespace

void TagCorrelator::choose_near_levels() {
  const Level& finest = levels_[0];
  std::size_t levels = near_;
  // As long as this holds, no sum can leave 64 bits.
  if (HugeProduct{finest.direct.total} * finest.earlier().total >> 63 != 0) levels = 0;
  while (levels > 0 &&
         pairs_.mean_pairs(finest.earlier().whole, finest.new_direct(), levels) > kMostNear)
    --levels;
  while (near_ > levels) leave_near(--near_);
}

// Makes the windows that the level would have had from the start: of windows that level 0 has from
// before this call.
void TagCorrelator::leave_near(std::size_t index) {
  Level &level = levels_[index], &finest = levels_[0];
  const LagRange& range = level.range;
  const int halvings = static_cast<int>(index);
  Series first;
  first.add(finest.first, 0, halvings);
  first.close(now_ >> index);
  level.first = {};
  for (const Window& window : first.whole)
    if (window.index < range.whole + range.first_steps + range.steps) level.first.push_back(window);
  if (index == 0) {
    // Removes windows that are multiplied already.
    if (!level.shared)
      level.direct.whole.erase(
          level.direct.whole.begin(),
          level.direct.whole.begin() + static_cast<std::ptrdiff_t>(level.fresh_direct));
    level.fresh_direct = 0;
    return;
  }
  const auto make = [&](Series& series, const Series& from, std::size_t old, std::uint64_t later) {
    const std::span<const Window> all(from.whole);
    const std::uint64_t total = from.total - counts_of(all.subspan(old));
    series.add(all.first(old), later, halvings);
    series.close((now_ + later) >> index);
    series.total = total - series.open.count;
    series.most = std::min(total, from.most << index);
  };
  make(level.direct, finest.direct, finest.first_direct(), 0);
  if (!level.shared) {
    make(level.delayed, finest.earlier(), finest.fresh, range.base);
    level.direct.whole.clear();
  }
  level.fresh = level.earlier().whole.size();
  if (index + 1 == levels_.size()) return;
  // The next level has been given every bin, and from now on is given windows that have ended.
  Level& next = levels_[index + 1];
  next.direct.open.count -= level.direct.open.count;
  if (!level.shared) next.delayed.open.count -= level.delayed.open.count;
}

void TagCorrelator::find_leads() {
  for (std::size_t l = 0; l < near_; ++l) {
    const LagRange& range = levels_[l].range;
    const std::uint64_t end = range.whole * range.window - range.base;
    if (!range.has_lead_in() || now_ >= end) continue;
    levels_[l].lead += counts_of(part(levels_[0].new_delayed(), 0, end));
  }
}

// The sums of each level first contain the windows of d that ended by now_, and afterwards those
// that ended by `until`.
void TagCorrelator::multiply_near(std::uint64_t until) {
  Level& finest = levels_[0];
  const std::span<const Window> e(finest.earlier().whole), d(finest.direct.whole);
  const auto sums = [&](std::size_t level, std::size_t i) -> std::uint64_t& {
    return levels_[level].sums[i];
  };
  const std::uint64_t together = std::max(now_, start_of_window(near_ - 1, until));
  pairs_.count(e, part(d, now_, together), near_, sums);
  for (std::size_t l = 0; l < near_; ++l) {
    const std::uint64_t from = start_of_window(l, now_), to = start_of_window(l, until);
    pairs_.count_level(e, part(d, from, std::min(now_, to)), l, sums);
    pairs_.count_level(e, part(d, together, to), l, sums);
  }
  const LagRange& coarsest = levels_[near_ - 1].range;
  keep(finest, (coarsest.whole + coarsest.first_steps + coarsest.steps) * coarsest.window);
  const std::uint64_t open = start_of_window(near_ - 1, until);
  forget(finest, open - std::min(open, pairs_.reach(near_)));
  if (finest.shared) return;
  std::erase_if(finest.direct.whole, [&](const Window& window) { return window.index < open; });
  finest.fresh_direct = finest.direct.whole.size();
}

}  // namespace tautline::stages::autocorrelate
