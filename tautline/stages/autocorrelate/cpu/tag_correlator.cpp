#include "tautline/stages/autocorrelate/cpu/tag_correlator.h"

#include <algorithm>
#include <limits>

namespace tautline::stages::autocorrelate {

namespace {

__extension__ typedef unsigned __int128 Huge;

// Lists are multiplied as arrays where at least one window in this many is not zero: of short counts, whose products
// are four times as fast, and of others.
constexpr std::uint64_t kSparseShort = 8, kSparse = 4;
// The largest short count, and how many products of two such counts add up in 31 bits.
constexpr std::uint64_t kMostShort = 255;
constexpr std::size_t kShortPiece = std::size_t{1} << 15;

std::uint64_t sum_of_products(const std::uint32_t* x, const std::uint32_t* y, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t t = 0; t < size; ++t) sum += std::uint64_t{x[t]} * y[t];
  return sum;
}

// Signed, since processors add pairs of such products at once.
std::uint64_t sum_of_products(const std::int16_t* x, const std::int16_t* y, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first < size; first += kShortPiece) {
    const std::size_t last = std::min(size, first + kShortPiece);
    std::int32_t part = 0;
    for (std::size_t t = first; t < last; ++t) part += std::int32_t{x[t]} * y[t];
    sum += static_cast<std::uint64_t>(part);
  }
  return sum;
}

std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

// Without a branch for whether a window goes on: with photons at random nobody could foretell it.
void TagCorrelator::Series::add(std::span<const Window> finer, std::uint64_t later, int halvings) {
  const std::size_t held = whole.size();
  whole.resize(held + finer.size());
  Window* to = whole.data() + held;
  Window now = open;
  total += open.count;
  for (const Window& window : finer) {
    const std::uint64_t index = (window.index + later) >> halvings;
    const bool goes_on = index == now.index;
    *to = now;
    to += !goes_on && now.count != 0 ? 1 : 0;
    now = {index, window.count + (goes_on ? now.count : 0)};
    total += window.count;
  }
  total -= now.count;
  open = now;
  whole.resize(static_cast<std::size_t>(to - whole.data()));
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
  const std::uint64_t windows = d.back().index + 1 - d[from].index;
  if (windows > kSparseShort * (d.size() - from)) return false;
  std::uint64_t most = level.most;
  for (std::size_t n = from; n < d.size(); ++n) most = std::max(most, d[n].count);
  const bool few = most <= kMostShort;
  if (few) multiply_arrays_of<std::int16_t>(level, from);
  if (few || windows > kSparse * (d.size() - from) ||
      most > std::numeric_limits<std::uint32_t>::max())
    return few;
  multiply_arrays_of<std::uint32_t>(level, from);
  return true;
}

template <class Count>
void TagCorrelator::multiply_arrays_of(Level& level, std::size_t from) {
  const std::vector<Window>& d = level.direct.whole;
  const std::vector<Window>& e = level.shared ? d : level.delayed.whole;
  const std::uint64_t first = level.range.first_steps, last = first + level.range.steps - 1;
  const std::uint64_t begin = d[from].index, end = d.back().index + 1;
  thread_local std::vector<Count> direct_array, delayed_array;
  direct_array.assign(end - begin, 0);
  for (std::size_t n = from; n < d.size(); ++n)
    direct_array[d[n].index - begin] = static_cast<Count>(d[n].count);
  // Element i is window begin - last + i.
  delayed_array.assign(end - begin + last, 0);
  std::uint64_t& low = level.oldest;
  while (low < e.size() && e[low].index + last < begin) ++low;
  for (std::size_t i = low; i < e.size() && e[i].index < end; ++i)
    delayed_array[e[i].index + last - begin] = static_cast<Count>(e[i].count);
  for (std::size_t i = 0; i < level.range.steps; ++i)
    level.sums[i] += sum_of_products(direct_array.data(), delayed_array.data() + (last - first - i),
                                     end - begin);
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
  levels_[0].direct.add(b, 0, 0);
  if (!levels_[0].shared) levels_[0].delayed.add(a, 0, 0);
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    level.direct.close(until / level.range.window);
    if (!level.shared) level.delayed.close((until + level.range.base) / level.range.window);
    if (l + 1 == levels_.size()) break;
    Level& next = levels_[l + 1];
    const std::span<const Window> d = level.direct.whole;
    const std::span<const Window> e = level.shared ? d : level.delayed.whole;
    next.direct.add(level.shared ? d.subspan(level.fresh) : d, 0, 1);
    if (!next.shared) next.delayed.add(e.subspan(level.fresh), bins_, 1);
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
