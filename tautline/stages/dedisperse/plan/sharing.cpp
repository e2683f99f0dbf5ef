#include "tautline/stages/dedisperse/plan/sharing.h"

#include <algorithm>
#include <bit>

namespace tautline::stages::dedisperse {

namespace {

// Finds patterns by what they are made of: open addressing over a few hundred entries at most.
class PatternIndex {
 public:
  explicit PatternIndex(std::size_t most) : places_(std::bit_ceil(2 * most), kFree) {}

  void clear() { std::fill(places_.begin(), places_.end(), kFree); }

  /// The number of the pattern, which is new to `patterns` or among them.
  std::uint32_t find(std::vector<Pattern>& patterns, std::uint32_t a, std::uint32_t b,
                     std::int32_t apart) {
    const std::uint64_t mixed =
        (a * 0x9e3779b97f4a7c15u) ^ (b * 0xc2b2ae3d27d4eb4fu) ^
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(apart)) * 0x165667b19e3779f9u);
    for (std::size_t k = mixed >> 32;; ++k) {
      std::uint32_t& place = places_[k & (places_.size() - 1)];
      if (place == kFree) {
        place = static_cast<std::uint32_t>(patterns.size());
        patterns.push_back({a, b, apart, 0, -1});
        return place;
      }
      const Pattern& known = patterns[place];
      if (known.a == a && known.b == b && known.apart == apart) return place;
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffff;
  std::vector<std::uint32_t> places_;
};

void use(SharingNode& node, std::size_t trial, std::uint32_t pattern, std::int32_t delay) {
  node.pattern_of[trial] = pattern;
  node.delay_of[trial] = delay;
  Pattern& p = node.patterns[pattern];
  if (p.high < p.low) p.low = p.high = delay;
  p.low = std::min(p.low, delay);
  p.high = std::max(p.high, delay);
}

SharingNode sized(std::size_t trials) {
  SharingNode node;
  node.pattern_of.resize(trials);
  node.delay_of.resize(trials);
  return node;
}

SharingNode leaf_pair(const Delays& delays, std::span<const std::uint32_t> block, std::size_t first,
                      PatternIndex& index) {
  SharingNode node = sized(block.size());
  node.single = first + 1 >= delays.positions;
  index.clear();
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::int32_t delay = delays(block[i], first);
    const std::int32_t apart = node.single ? 0 : delays(block[i], first + 1) - delay;
    use(node, i, index.find(node.patterns, 0, 0, apart), delay);
  }
  return node;
}

SharingNode joined(const SharingNode& a, const SharingNode* b, PatternIndex& index) {
  if (b == nullptr) {
    SharingNode node = a;
    node.single = true;
    for (std::uint32_t k = 0; k < node.patterns.size(); ++k) node.patterns[k].a = k;
    return node;
  }
  const std::size_t trials = a.pattern_of.size();
  SharingNode node = sized(trials);
  index.clear();
  for (std::size_t i = 0; i < trials; ++i)
    use(node, i,
        index.find(node.patterns, a.pattern_of[i], b->pattern_of[i],
                   b->delay_of[i] - a.delay_of[i]),
        a.delay_of[i]);
  return node;
}

}  // namespace

SharingTree make_sharing_tree(const Delays& delays, std::span<const std::uint32_t> block,
                              std::size_t highest) {
  SharingTree tree;
  tree.levels.resize(highest + 1);
  PatternIndex index(block.size());
  for (std::size_t l = 1; l <= highest; ++l) {
    const std::size_t count = (delays.positions + (std::size_t{1} << l) - 1) >> l;
    auto& level = tree.levels[l];
    level.reserve(count);
    for (std::size_t g = 0; g < count; ++g) {
      if (l == 1) {
        level.push_back(leaf_pair(delays, block, 2 * g, index));
      } else {
        const auto& below = tree.levels[l - 1];
        level.push_back(
            joined(below[2 * g], 2 * g + 1 < below.size() ? &below[2 * g + 1] : nullptr, index));
      }
    }
  }
  return tree;
}

}  // namespace tautline::stages::dedisperse
