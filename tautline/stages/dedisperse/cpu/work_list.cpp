#include "tautline/stages/dedisperse/cpu/work_list.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/plan/sharing.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kCacheLineBytes = 64;

// The length of a row of shared sums in scratch: whole cache lines, and an odd number of them, so
// that rows do not use the same sets of the caches.
std::size_t row_room(std::size_t times, std::size_t sum_bytes) {
  const std::size_t lines = (times * sum_bytes + kCacheLineBytes - 1) / kCacheLineBytes + 1;
  return (lines | 1) * kCacheLineBytes / sum_bytes;
}

// The most channels that a partial sum of 16 bits can hold beside the bits that it keeps when it is
// carried.
std::size_t channels_in_sum(const DelayPlan& plan) {
  return (65535 - ((1 << kKeptBits) - 1)) / plan.max_value();
}

// The steps of a block's sums after each bundle of channels: kept, carried or output.
class Sums {
 public:
  explicit Sums(const WorkLimits& limits) : limits_(limits) {}

  /// Channels that still fit.
  std::size_t room() const { return limits_.channels_in_sum - held_; }

  /// `bundle` has this many channels; the next group to add has `next`, none after the last.
  void add(Bundle& bundle, std::size_t channels, std::size_t next) {
    bundle.start = start_;
    bundle.carried = carried_ > 0;
    start_ = false;
    held_ += channels;
    if (next > 0 && next <= room()) return;
    carried_ += std::exchange(held_, 0);
    bundle.finish = next == 0 || carried_ + limits_.channels_in_sum > limits_.channels_in_trial;
    bundle.carry = !bundle.finish;
    if (!bundle.finish) return;
    bundle.first_output = !std::exchange(written_, true);
    start_ = true;
    carried_ = 0;
  }

 private:
  const WorkLimits& limits_;
  std::size_t held_ = 0, carried_ = 0;  // channels
  bool start_ = true, written_ = false;
};

// Lays out and lists the work of one block.
class BlockWriter {
 public:
  BlockWriter(WorkList& work, const WorkLimits& limits, const Delays& delays,
              const SharingTree& tree, const CpuCost& cost, std::size_t trials)
      : work_(work),
        limits_(limits),
        delays_(delays),
        tree_(tree),
        schedule_(make_partial_sum_schedule(tree, cost)),
        trials_(trials) {}

  void write() {
    const std::size_t top = work_.cut.levels;
    const auto& nodes = tree_.levels[top];
    lay_out_lower_levels(top);
    std::size_t g = 0;
    Sums sums(limits_);
    while (g < nodes.size()) {
      // The number of groups for which scratch and the range of a sum have room.
      std::size_t groups = 0, bytes = 0, channels = 0;
      while (g + groups < nodes.size()) {
        const std::size_t more = node_elements(top, g + groups) * limits_.sum_bytes;
        const std::size_t wider = width(top, g + groups);
        if (groups > 0 && (bytes + more > limits_.scratch_bytes || channels + wider > sums.room()))
          break;
        bytes += more, channels += wider, ++groups;
      }
      write_bundle(g, groups);
      g += groups;
      sums.add(work_.bundles.back(), channels, g < nodes.size() ? width(top, g) : 0);
    }
  }

 private:
  // The places of a node's sums, one for each pattern.
  using Places = std::vector<std::uint32_t>;

  std::size_t times(const Pattern& p) const {
    return work_.cut.time_tile + static_cast<std::size_t>(p.high - p.low);
  }
  std::size_t node_elements(std::size_t level, std::size_t g) const {
    std::size_t elements = 0;
    for (const Pattern& p : tree_.levels[level][g].patterns)
      elements += row_room(times(p), limits_.sum_bytes);
    return elements;
  }
  // Channels that a node covers.
  std::size_t width(std::size_t level, std::size_t g) const {
    const std::size_t first = g << level;
    return std::min(first + (std::size_t{1} << level), delays_.positions) - first;
  }

  // Below the top, the sums from which a node is made are in memory at once: two halves or four
  // quarters. The k-th of them uses the k-th place of its level.
  using LowerPlaces = std::array<std::size_t, 4>;

  void lay_out_lower_levels(std::size_t top) {
    std::vector<LowerPlaces> most(top + 1);  // elements
    for (std::size_t g = 0; g < tree_.levels[top].size(); ++g) need(top, g, most);
    std::size_t next = 0;
    lower_.resize(top);
    for (std::size_t l = 1; l < top; ++l)
      for (std::size_t k = 0; k < lower_[l].size(); ++k) {
        lower_[l][k] = next;
        next += most[l][k];
      }
    upper_ = next;
  }
  // Room for the sums from which a node is made.
  void need(std::size_t level, std::size_t g, std::vector<LowerPlaces>& most) const {
    if (level == 1) return;
    const bool quarters = schedule_[level][g].from_quarters;
    const std::size_t parts = quarters ? 4 : tree_.levels[level][g].single ? 1 : 2;
    const std::size_t below = quarters ? level - 2 : level - 1;
    const std::size_t first = quarters ? 4 * g : 2 * g;
    for (std::size_t k = 0; k < parts; ++k) {
      most[below][k] = std::max(most[below][k], node_elements(below, first + k));
      need(below, first + k, most);
    }
  }

  void write_bundle(std::size_t first, std::size_t groups) {
    const std::size_t top = work_.cut.levels;
    Bundle bundle{
        work_.adds.size(),   0,
        work_.places.size(), groups,
        first << top,        std::min((first + groups) << top, delays_.positions) - (first << top)};
    std::size_t next = upper_;
    work_.places.resize(work_.places.size() + groups * trials_);
    for (std::size_t k = 0; k < groups; ++k) {
      const SharingNode& node = tree_.levels[top][first + k];
      const Places at = write_node(top, first + k, next);
      next += node_elements(top, first + k);
      for (std::size_t i = 0; i < trials_; ++i) {
        const std::uint32_t pattern = node.pattern_of[i];
        work_.places[bundle.first_place + i * groups + k] =
            at[pattern] + static_cast<std::uint32_t>(node.delay_of[i] - node.patterns[pattern].low);
      }
    }
    bundle.adds = work_.adds.size() - bundle.first_add;
    work_.bundles.push_back(bundle);
    work_.scratch_elements = std::max(work_.scratch_elements, next);
    work_.counted_adds += static_cast<double>(groups * trials_);
  }

  // The adds that make a node's sums, after the adds of the nodes below it.
  Places write_node(std::size_t level, std::size_t g, std::size_t to) {
    const SharingNode& node = tree_.levels[level][g];
    if (level == 1) return write_pairs(node, g, to);
    const bool quarters = schedule_[level][g].from_quarters;
    const std::size_t below = quarters ? level - 2 : level - 1, count = quarters ? 4 : 2;
    if (node.single && !quarters) return write_lower(below, 2 * g, 0);
    std::array<Places, 4> at;
    for (std::size_t k = 0; k < count; ++k) at[k] = write_lower(below, count * g + k, k);
    const SharingNode* parts = &tree_.levels[below][count * g];
    return write_sums(node, to, [&](const Pattern& p, Add& add) {
      const std::int32_t half = p.low + p.apart;
      if (!quarters) {
        add.a = place(at[0], parts[0], p.a, p.low);
        add.b = place(at[1], parts[1], p.b, half);
        return;
      }
      const Pattern& first = tree_.levels[level - 1][2 * g].patterns[p.a];
      const Pattern& second = tree_.levels[level - 1][2 * g + 1].patterns[p.b];
      add.a = place(at[0], parts[0], first.a, p.low);
      add.b = place(at[1], parts[1], first.b, p.low + first.apart);
      add.c = place(at[2], parts[2], second.a, half);
      add.d = place(at[3], parts[3], second.b, half + second.apart);
    });
  }
  Places write_lower(std::size_t level, std::size_t g, std::size_t k) {
    return write_node(level, g, lower_[level][k]);
  }

  // The place of a node's sum of a pattern for the time that is `delay` after the tile's first.
  static std::uint32_t place(const Places& at, const SharingNode& node, std::uint32_t pattern,
                             std::int32_t delay) {
    return at[pattern] + static_cast<std::uint32_t>(delay - node.patterns[pattern].low);
  }

  // One sum for each pattern, of the sources that `from` gives.
  template <class From>
  Places write_sums(const SharingNode& node, std::size_t to, From from) {
    Places at;
    for (const Pattern& p : node.patterns) {
      at.push_back(static_cast<std::uint32_t>(to));
      Add add{at.back(), static_cast<std::uint32_t>(times(p)), 0, 0, Add::kScratch, Add::kScratch};
      from(p, add);
      put(add);
      to += row_room(times(p), limits_.sum_bytes);
    }
    return at;
  }

  Places write_pairs(const SharingNode& node, std::size_t g, std::size_t to) {
    const auto channel = static_cast<std::uint32_t>(2 * g);
    return write_sums(node, to, [&](const Pattern& p, Add& add) {
      add.a = static_cast<std::uint32_t>(p.low);
      add.b = static_cast<std::uint32_t>(p.low + p.apart);
      add.channel_a = channel;
      add.channel_b = node.single ? Add::kNone : channel + 1;
    });
  }

  void put(const Add& add) {
    work_.adds.push_back(add);
    const double additions = add.c == Add::kNone ? 1 : 3;
    work_.counted_adds +=
        additions * static_cast<double>(add.length) / static_cast<double>(work_.cut.time_tile);
  }

  WorkList& work_;
  const WorkLimits& limits_;
  const Delays& delays_;
  const SharingTree& tree_;
  PartialSumSchedule schedule_;
  std::size_t trials_;
  std::vector<LowerPlaces> lower_;  // [level]
  std::size_t upper_ = 0;
};

// No sharing: bundles of channels whose windows stay in the first-level cache together.
void write_plain(WorkList& work, const WorkLimits& limits, const Delays& delays,
                 std::span<const std::uint32_t> block) {
  const auto window = [&](std::size_t p) {
    const auto span = static_cast<std::size_t>(delays(block.back(), p) - delays(block.front(), p));
    return (work.cut.time_tile + span) * limits.row_bytes;
  };
  Sums sums(limits);
  for (std::size_t p = 0; p < delays.positions;) {
    const std::size_t most = std::min(delays.positions - p, sums.room());
    std::size_t groups = 0, bytes = 0;
    while (groups < most) {
      bytes += window(p + groups);
      if (groups >= 16 && bytes > limits.near_bytes) break;
      ++groups;
    }
    work.bundles.push_back({work.adds.size(), 0, work.places.size(), groups, p, groups});
    sums.add(work.bundles.back(), groups, p + groups < delays.positions ? 1 : 0);
    for (const std::uint32_t trial : block)
      for (std::size_t k = 0; k < groups; ++k)
        work.places.push_back(static_cast<std::uint32_t>(delays(trial, p + k)));
    p += groups;
  }
  work.counted_adds += static_cast<double>(block.size() * delays.positions);
}

}  // namespace

std::size_t WorkList::bytes() const {
  return blocks.size() * sizeof(TrialBlock) + bundles.size() * sizeof(Bundle) +
         adds.size() * sizeof(Add) + places.size() * sizeof(std::uint32_t);
}

Types types_for(const DelayPlan& plan) {
  constexpr std::size_t kLeastChannels = 15;  // of 12 bits
  if (plan.whole_zero_dm()) return Types::i32_i32;
  if (plan.float_sums()) return Types::f32_f32;
  if (plan.max_value() <= 255) return Types::u8_u16;
  return channels_in_sum(plan) >= kLeastChannels ? Types::u16_u16 : Types::u16_u32;
}

WorkLimits limits_for(const DelayPlan& plan, const Tunables& tunables) {
  const Types types = types_for(plan);
  const Kernels& kernels = kernels_for(device::InstructionSet::portable, types);
  constexpr std::size_t kAll = std::numeric_limits<std::uint32_t>::max();
  const bool halves = types == Types::u8_u16 || types == Types::u16_u16;
  return {halves ? channels_in_sum(plan) : kAll,
          halves ? (65535 << kKeptBits) / plan.max_value() : kAll,
          kernels.row_bytes,
          kernels.sum_bytes,
          tunables.near_bytes,
          tunables.scratch_bytes};
}

WorkList make_work_list(const DelayPlan& plan, const WorkCut& cut, const WorkLimits& limits,
                        const CpuCost& cost) {
  const Delays& delays = plan.delays();
  WorkList work;
  work.cut = cut;
  std::size_t first_trial = 0;
  for (const auto block : plan.blocks(cut.block_trials)) {
    const std::size_t first_bundle = work.bundles.size();
    if (cut.levels == 0) {
      write_plain(work, limits, delays, block);
    } else {
      const SharingTree tree = make_sharing_tree(delays, block, cut.levels);
      BlockWriter(work, limits, delays, tree, cost, block.size()).write();
    }
    work.blocks.push_back(
        {first_trial, block.size(), first_bundle, work.bundles.size() - first_bundle});
    first_trial += block.size();
  }
  work.places.resize(work.places.size() + kPlacesAhead);
  for (const Bundle& bundle : work.bundles) work.carries |= bundle.carry;
  if (work.scratch_elements > std::numeric_limits<std::uint32_t>::max())
    throw core::Error(core::ErrorKind::memory, "dedisperse scratch",
                      std::to_string(work.scratch_elements) + " elements", "fewer than 2^32");
  return work;
}

}  // namespace tautline::stages::dedisperse
