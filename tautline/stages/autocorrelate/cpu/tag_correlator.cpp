#include "tautline/stages/autocorrelate/cpu/tag_correlator.h"

#include <algorithm>
#include <limits>

namespace tautline::stages::autocorrelate {

namespace {

__extension__ typedef unsigned __int128 Huge;

// Lists are multiplied as arrays where at least one window in this many is not zero.
constexpr std::uint64_t kSparse = 4;

std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

void TagCorrelator::Series::add(const Window& window) {
  if (open.count != 0 && open.index == window.index) {
    open.count += window.count;
    return;
  }
  if (open.count != 0) {
    total += open.count;
    whole.push_back(open);
  }
  open = window;
}

void TagCorrelator::Series::close(std::uint64_t end) {
  if (open.count == 0 || open.index >= end) return;
  total += open.count;
  whole.push_back(open);
  open.count = 0;
}

TagCorrelator::TagCorrelator(const Config& config, bool same)
    : bins_(config.lag_scheme == LagScheme::chain ? config.bins : 0) {
  for (std::size_t l = 0; l < config.levels; ++l) {
    Level level;
    level.range = lag_range(config, l);
    level.shared = same && level.range.base == 0;
    level.sums.resize(level.range.steps);
    levels_.push_back(std::move(level));
  }
}

// Adds d[j] e[j - k] for every new window j of d that has ended.
void TagCorrelator::multiply_lists(Level& level) {
  const std::vector<Window>& e = level.shared ? level.direct.whole : level.delayed.whole;
  const std::uint64_t first = level.range.first_steps, last = first + level.range.steps - 1;
  std::uint64_t low = level.oldest;
  const std::vector<Window>& d = level.direct.whole;
  for (std::size_t n = level.shared ? level.fresh : 0; n < d.size(); ++n) {
    const std::uint64_t j = d[n].index;
    while (low < e.size() && e[low].index + last < j) ++low;
    for (std::size_t i = low; i < e.size() && e[i].index + first <= j; ++i)
      level.sums[j - e[i].index - first] += d[n].count * e[i].count;
  }
  level.oldest = low;
}

// The same with dense arrays. Returns false, without adding anything, where the windows are sparse
// or a count exceeds 32 bits.
bool TagCorrelator::multiply_arrays(Level& level) {
  const std::vector<Window>& d = level.direct.whole;
  const std::size_t from = level.shared ? level.fresh : 0;
  if (from == d.size()) return true;
  const std::vector<Window>& e = level.shared ? d : level.delayed.whole;
  const std::uint64_t first = level.range.first_steps, last = first + level.range.steps - 1;
  const std::uint64_t begin = d[from].index, end = d.back().index + 1;
  if (end - begin > kSparse * (d.size() - from) ||
      level.most > std::numeric_limits<std::uint32_t>::max())
    return false;
  thread_local std::vector<std::uint32_t> direct_array, delayed_array;
  direct_array.assign(end - begin, 0);
  for (std::size_t n = from; n < d.size(); ++n) {
    if (d[n].count > std::numeric_limits<std::uint32_t>::max()) return false;
    direct_array[d[n].index - begin] = static_cast<std::uint32_t>(d[n].count);
  }
  // Element i is window begin - last + i.
  delayed_array.assign(end - begin + last, 0);
  std::uint64_t& low = level.oldest;
  while (low < e.size() && e[low].index + last < begin) ++low;
  for (std::size_t i = low; i < e.size() && e[i].index < end; ++i)
    delayed_array[e[i].index + last - begin] = static_cast<std::uint32_t>(e[i].count);
  for (std::size_t i = 0; i < level.range.steps; ++i) {
    const std::uint32_t* x = direct_array.data();
    const std::uint32_t* y = delayed_array.data() + (last - first - i);
    std::uint64_t sum = 0;
    for (std::size_t t = 0; t < end - begin; ++t) sum += std::uint64_t{x[t]} * y[t];
    level.sums[i] += sum;
  }
  return true;
}

void TagCorrelator::multiply(Level& level) {
  const std::vector<Window>& e = level.shared ? level.direct.whole : level.delayed.whole;
  for (std::size_t i = level.fresh; i < e.size(); ++i) {
    level.most = std::max(level.most, e[i].count);
    if (e[i].index + 1 == level.range.whole) level.lead = e[i].count;
  }
  // Every sum is at most the largest delayed window times the total of the direct windows.
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (Huge{level.most} * std::max(level.direct.total, level.delayed.total) >= kLimit)
    level.refused = true;
  if (!multiply_arrays(level)) multiply_lists(level);
}

// Keeps the first windows of d, which the monitors leave out.
void TagCorrelator::keep(Level& level) {
  const std::uint64_t end = level.range.whole + level.range.first_steps + level.range.steps;
  const std::vector<Window>& d = level.direct.whole;
  for (std::size_t n = level.shared ? level.fresh : 0; n < d.size() && d[n].index < end; ++n)
    level.first.push_back(d[n]);
}

// Drops windows of e that neither products nor monitors reach any more, once they are half of the
// list.
void TagCorrelator::forget(Level& level, std::uint64_t end) {
  std::vector<Window>& e = level.shared ? level.direct.whole : level.delayed.whole;
  const std::uint64_t last = level.range.first_steps + level.range.steps;
  std::uint64_t& low = level.oldest;
  while (low < e.size() && e[low].index + last < end) ++low;
  if (2 * low >= e.size()) {
    e.erase(e.begin(), e.begin() + static_cast<std::ptrdiff_t>(low));
    low = 0;
  }
  level.fresh = e.size();
  if (!level.shared) level.direct.whole.clear();
}

void TagCorrelator::push(std::span<const Window> a, std::span<const Window> b,
                         std::uint64_t until) {
  for (const Window& window : b) levels_[0].direct.add(window);
  if (!levels_[0].shared)
    for (const Window& window : a) levels_[0].delayed.add(window);
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    level.direct.close(until / level.range.window);
    if (!level.shared) level.delayed.close((until + level.range.base) / level.range.window);
    if (l + 1 == levels_.size()) break;
    Level& next = levels_[l + 1];
    const std::vector<Window>& d = level.direct.whole;
    const std::vector<Window>& e = level.shared ? d : level.delayed.whole;
    for (std::size_t n = level.shared ? level.fresh : 0; n < d.size(); ++n)
      next.direct.add({d[n].index / 2, d[n].count});
    if (!next.shared)
      for (std::size_t n = level.fresh; n < e.size(); ++n)
        next.delayed.add({(e[n].index + bins_) / 2, e[n].count});
  }
}

void TagCorrelator::multiply_level(std::size_t index, std::uint64_t until) {
  Level& level = levels_[index];
  multiply(level);
  keep(level);
  forget(level, until / level.range.window);
}

void TagCorrelator::settle() {
  for (Level& level : levels_) refused_ = refused_ || level.refused;
}

void TagCorrelator::read(std::uint64_t samples, std::size_t pair,
                         const TypedSums<std::int64_t>& out) const {
  for (const Level& level : levels_) {
    const LagRange& range = level.range;
    const Series& delayed = level.shared ? level.direct : level.delayed;
    const std::uint64_t windows = samples / range.window;
    // Sum of d below x, for small x; and of e from x on, for large x.
    const auto head = [&](std::uint64_t x) {
      std::uint64_t sum = 0;
      for (const Window& w : level.first) sum += w.index < x ? w.count : 0;
      return sum;
    };
    const auto tail = [&](std::uint64_t x) {
      std::uint64_t sum = 0;
      for (std::size_t i = level.oldest; i < delayed.whole.size(); ++i)
        sum += delayed.whole[i].index >= x ? delayed.whole[i].count : 0;
      return sum;
    };
    for (std::size_t i = 0; i < range.steps; ++i) {
      const std::uint64_t k = range.first_steps + i, first = range.whole + k;
      const std::size_t lag = range.first_lag + i;
      const bool pairs = windows > first;
      const std::uint64_t lead_in = range.has_lead_in() && windows >= first
                                        ? level.lead * (head(first) - head(first - 1))
                                        : 0;
      out.put(pair, lag, as_signed(level.sums[i]), as_signed(lead_in),
              pairs ? as_signed(delayed.total - level.lead - tail(windows - k)) : 0,
              pairs ? as_signed(level.direct.total - head(first)) : 0);
    }
  }
  const Level& level = levels_[0];
  out.put_totals(pair, as_signed(level.shared ? level.direct.total : level.delayed.total),
                 as_signed(level.direct.total));
}

}  // namespace tautline::stages::autocorrelate
