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

// No sum may reach it.
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

// Without a branch on the continuation of a window: with photons at random the processor could not
// predict it.
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
    most = std::max(most, now.count);
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
    : bins_(config.lag_scheme == LagScheme::chain ? config.bins : 0),
      pairs_(config),
      near_(pairs_.useful() ? config.levels : 0) {
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
  const std::vector<Window>& e = level.earlier().whole;
  const std::uint64_t first = level.range.first_steps, last = first + level.range.steps - 1;
  std::uint64_t low = level.oldest;
  const std::vector<Window>& d = level.direct.whole;
  for (std::size_t n = level.first_direct(); n < d.size(); ++n) {
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
  const std::size_t from = level.first_direct();
  if (from == d.size()) return true;
  const std::uint64_t windows = d.back().index + 1 - d[from].index;
  if (windows > kSparseShort * (d.size() - from)) return false;
  const std::uint64_t most = std::max(level.direct.most, level.delayed.most);
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
  for (const Window& window : level.new_delayed()) {
    if (window.index >= level.range.whole) break;
    if (window.index + 1 == level.range.whole) level.lead = window.count;
  }
  // Every sum is at most the largest delayed window times the total of the direct windows.
  if (Huge{level.earlier().most} * std::max(level.direct.total, level.delayed.total) >= kLimit)
    level.refused = true;
  if (!multiply_arrays(level)) multiply_lists(level);
}

// Keeps the first windows of d, which the monitors leave out.
void TagCorrelator::keep(Level& level, std::uint64_t end) {
  for (const Window& window : level.new_direct()) {
    if (window.index >= end) break;
    level.first.push_back(window);
  }
}

// Drops windows of e below `end`, which neither products nor monitors reach any more, once they are
// half of the list.
void TagCorrelator::forget(Level& level, std::uint64_t end) {
  std::vector<Window>& e = level.shared ? level.direct.whole : level.delayed.whole;
  std::uint64_t& low = level.oldest;
  while (low < e.size() && e[low].index < end) ++low;
  if (2 * low >= e.size()) {
    e.erase(e.begin(), e.begin() + static_cast<std::ptrdiff_t>(low));
    low = 0;
  }
  level.fresh = e.size();
}

void TagCorrelator::push(std::span<const Window> a, std::span<const Window> b,
                         std::uint64_t until) {
  Level& finest = levels_[0];
  finest.direct.add(b, 0, 0);
  finest.direct.close(until);
  if (!finest.shared) finest.delayed.add(a, 0, 0);
  if (!finest.shared) finest.delayed.close(until);
  choose_near_levels();
  find_leads();
  const std::size_t coarser = std::max<std::size_t>(near_, 1);
  for (std::size_t l = coarser; l < levels_.size(); ++l) {
    const std::size_t from = l == coarser ? 0 : l - 1;
    const Level& finer = levels_[from];
    Level& level = levels_[l];
    level.direct.add(finer.new_direct(), 0, static_cast<int>(l - from));
    level.direct.close(until / level.range.window);
    if (level.shared) continue;
    level.delayed.add(finer.new_delayed(), bins_ * ((std::uint64_t{1} << (l - from)) - 1),
                      static_cast<int>(l - from));
    level.delayed.close((until + level.range.base) / level.range.window);
  }
}

void TagCorrelator::multiply_level(std::size_t index, std::uint64_t until) {
  Level& level = levels_[index];
  const LagRange& range = level.range;
  if (index < near_) {
    if (index == 0) multiply_near(until);
    return;
  }
  multiply(level);
  keep(level, range.whole + range.first_steps + range.steps);
  const std::uint64_t now = until / range.window, reach = range.first_steps + range.steps;
  forget(level, now - std::min(now, reach));
  if (!level.shared) level.direct.whole.clear();
}

void TagCorrelator::settle(std::uint64_t until) {
  for (Level& level : levels_) refused_ = refused_ || level.refused;
  now_ = until;
}

std::uint64_t TagCorrelator::Level::head(std::uint64_t x) const {
  std::uint64_t sum = 0;
  for (const Window& w : first) sum += w.index < x ? w.count : 0;
  return sum;
}

std::uint64_t TagCorrelator::Level::tail(std::uint64_t x) const {
  std::uint64_t sum = 0;
  for (const Window& w : std::span(earlier().whole).subspan(oldest))
    sum += w.index >= x ? w.count : 0;
  return sum;
}

void TagCorrelator::read(std::uint64_t samples, std::size_t pair,
                         const TypedSums<std::int64_t>& out) const {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const LagRange& range = levels_[l].range;
    const Level& windowed = levels_[l < near_ ? 0 : l];  // whose windows they are
    const std::size_t halvings = l < near_ ? l : 0;
    const std::uint64_t later = l < near_ ? range.base : 0;
    const auto head = [&](std::uint64_t x) { return windowed.head(x << halvings); };
    const auto tail = [&](std::uint64_t x) { return windowed.tail((x << halvings) - later); };
    const std::uint64_t windows = samples / range.window, lead = levels_[l].lead;
    std::uint64_t direct = windowed.direct.total;
    for (const Window& w : windowed.direct.whole)
      if (w.index >= windows << halvings) direct -= w.count;
    for (std::size_t i = 0; i < range.steps; ++i) {
      const std::uint64_t k = range.first_steps + i, first = range.whole + k;
      const std::size_t lag = range.first_lag + i;
      const bool pairs = windows > first;
      const std::uint64_t lead_in =
          range.has_lead_in() && windows >= first ? lead * (head(first) - head(first - 1)) : 0;
      out.put(pair, lag, as_signed(levels_[l].sums[i]), as_signed(lead_in),
              pairs ? as_signed(windowed.earlier().total - lead - tail(windows - k)) : 0,
              pairs ? as_signed(direct - head(first)) : 0);
    }
  }
  const Level& finest = levels_[0];
  out.put_totals(pair, as_signed(finest.earlier().total), as_signed(finest.direct.total));
}

}  // namespace tautline::stages::autocorrelate
