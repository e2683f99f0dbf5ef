#include "tautline/stages/autocorrelate/cpu/near_pairs.h"

#include <bit>

namespace tautline::stages::autocorrelate {

namespace {

constexpr std::size_t kSampled = 256;  // bins of d whose neighbours are counted

}  // namespace

// At a level a pair of bins is k windows apart where their distance, less the base, is between k w - (w - 1) and
// k w + (w - 1). Both ends grow with the level.
NearPairs::NearPairs(const Config& config) {
  std::vector<std::uint64_t> nearest;
  for (std::size_t l = 0; l < config.levels; ++l) {
    const LagRange range = lag_range(config, l);
    const std::uint64_t last = range.first_steps + range.steps - 1;
    const std::uint64_t least = range.first_steps * range.window + range.base;
    nearest.push_back(least - std::min(least, range.window - 1));
    farthest_.push_back(last * range.window + range.base + range.window - 1);
    bases_.push_back(range.base);
    last_.push_back(last);
    row_ = std::max(row_, static_cast<std::size_t>(last) + 2);
    ranges_.push_back(range);
  }
  for (std::size_t bits = 0; bits < finest_.size(); ++bits) {
    const std::uint64_t least = bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
    const std::uint64_t most = bits == 0 ? 0 : least + (least - 1);
    const auto finest = std::lower_bound(farthest_.begin(), farthest_.end(), least);
    const auto coarsest = std::upper_bound(nearest.begin(), nearest.end(), most);
    finest_[bits] = static_cast<std::uint32_t>(finest - farthest_.begin());
    together_ =
        std::max(together_, static_cast<std::size_t>(coarsest - nearest.begin()) - finest_[bits]);
  }
  bases_.resize(config.levels + together_);
  last_.resize(config.levels + together_);
  rows_.resize((config.levels + together_) * row_);
}

double NearPairs::mean_pairs(std::span<const Window> e, std::span<const Window> d,
                             std::size_t levels) const {
  const std::size_t step = d.size() / kSampled + 1;
  std::ptrdiff_t pairs = 0;
  std::size_t sampled = 0;
  for (std::size_t n = 0; n < d.size(); n += step, ++sampled) {
    const std::uint64_t t = d[n].index, far = reach(levels);
    pairs += first_after(e, t) - (t > far ? first_after(e, t - far - 1) : e.data());
  }
  return sampled == 0 ? 0 : static_cast<double>(pairs) / static_cast<double>(sampled);
}

// Without a branch on the level or the lag, which the processor could not predict.
void NearPairs::count_pairs(std::span<const Window> e, std::span<const Window> d,
                            std::size_t levels) {
  std::fill_n(rows_.begin(), (levels + together_) * row_, 0);
  if (e.empty() || d.empty()) return;
  const Window* const first = e.data();
  const Window* const end = first + e.size();
  const Window* next = first_after(e, d.front().index);
  const std::uint64_t far = reach(levels);
  const std::uint64_t *bases = bases_.data(), *last = last_.data();
  std::uint64_t* const rows = rows_.data();
  for (const Window& direct : d) {
    while (next != end && next->index <= direct.index) ++next;
    for (const Window* one = next; one != first;) {
      --one;
      const std::uint64_t distance = direct.index - one->index;
      if (distance > far) break;
      const std::uint64_t product = direct.count * one->count;
      std::size_t level = finest_[static_cast<std::size_t>(std::bit_width(distance))];
      for (std::size_t n = 0; n < together_; ++n, ++level) {
        const std::uint64_t k = (direct.index >> level) - ((one->index + bases[level]) >> level);
        rows[level * row_ + std::min(k, last[level] + 1)] += product;
      }
    }
  }
}

}  // namespace tautline::stages::autocorrelate
