#include "tautline/stages/dedisperse/gpu/tile_work_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tautline/core/integers.h"
#include "tautline/stages/dedisperse/plan/sharing.h"

namespace tautline::stages::dedisperse {

namespace {

// As tile.kernel has them.
constexpr std::size_t kRuns = 4, kWarp = 32, kWordBytes = 4;
constexpr std::size_t kMostPlaces = 65536;  // places are 16-bit numbers
constexpr std::size_t kMostBundleRows = 256;

// A row is long where a bundle has few: then several warps stage it.
std::size_t row_threads(std::size_t threads, std::size_t rows) {
  std::size_t of_row = std::min(threads, kWarp);
  while (threads % (2 * of_row) == 0 && 2 * of_row * rows <= threads) of_row *= 2;
  return of_row;
}

// Delays of a row over the trials of a block, the lowest a multiple of four.
struct Window {
  std::int32_t low = 0, high = 0;
};

class TileWriter {
 public:
  TileWriter(const DelayPlan& plan, const GroupShape& shape, std::size_t levels,
             const GpuCost& cost)
      : plan_(plan),
        delays_(plan.delays()),
        cost_(cost),
        blocks_(plan.blocks(shape.trials())),
        shape_(shape),
        span_(shape.span()),
        trials_(shape.trials()),
        levels_(levels),
        stages_(levels == 0 ? 0 : levels - 1),
        group_rows_(std::size_t{1} << levels),
        groups_(core::divide_up(delays_.positions, group_rows_)),
        warp_(std::min(kWarp, shape.threads())),
        bytes_(shape.element_bytes == 1),
        entry_bytes_(bytes_ ? 2 * kWordBytes : kWordBytes),
        zero_bytes_(std::max(span_, kRuns * warp_) * entry_bytes_),
        list_(shape, "tile.kernel", "dedisperse_tile") {}

  std::optional<GpuWorkList> write() {
    measure();
    if (!choose_bundle()) return std::nullopt;
    const std::size_t bundles = (groups_ + bundle_groups_ - 1) / bundle_groups_;
    bundle_rows_ = bundle_groups_ * group_rows_;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const double before = list_.cycles;
      for (std::size_t k = 0; k < bundles; ++k) write_bundle(b, k);
      list_.dearest = std::max(list_.dearest, list_.cycles - before);
    }
    starts_.push_back(static_cast<std::uint32_t>(ops_.size() / 4));
    // The kernel reads a pair of groups ahead.
    places_.resize(places_.size() + trials_);
    // No buffer is empty.
    ops_.resize(ops_.size() + 4);
    describe();
    return std::move(list_);
  }

 private:
  void describe() {
    list_.constants.insert(
        {{"ROW", 8 * shape_.element_bytes},
         {"LEVELS", levels_},
         {"GROUPS", shape_.tunables.groups},
         {"LOCAL_BYTES", list_.shared_bytes},
         {"ROW_THREADS",
          row_threads(shape_.threads(), std::min(bundle_rows_, delays_.positions))}});
    for (auto* list : {&staged_, &starts_, &ops_, &places_})
      list_.lists.push_back(std::move(*list));
    list_.numbers = {delays_.positions, bundle_rows_,
                     std::max<std::size_t>(1, shape_.channels_in_sum / bundle_rows_)};
    list_.aligned_times = bytes_ ? 4 : 1;
    list_.shares = levels_ > 0;
    list_.choice = plan_.choice(
        list_.shares ? Method::shared : Method::exact, adds_ / static_cast<double>(span_),
        fmt::format("{}{} channels in {} KiB of shared memory",
                    list_.shares ? fmt::format("groups of {}, ", group_rows_) : "", bundle_rows_,
                    core::divide_up(list_.shared_bytes, 1024)));
  }

  std::size_t row_bytes(const Window& w) const {
    return kWordBytes * core::round_up(static_cast<std::size_t>(w.high - w.low) + span_, 4);
  }
  std::size_t entries(const Pattern& p) const {
    return core::round_up(static_cast<std::size_t>(p.high - p.low) + span_, warp_);
  }
  // What runs may read beyond the last row or sum.
  std::size_t slack_bytes(std::size_t stage) const {
    return warp_ * (stage == 0 ? kWordBytes : entry_bytes_);
  }
  const SharingNode& node(std::size_t block, std::size_t stage, std::size_t n) const {
    return trees_[block].levels[stage + 1][n];
  }
  // Nodes of a stage in a group of rows.
  std::size_t nodes_of_group(std::size_t stage) const { return group_rows_ >> (stage + 1); }

  // Trees, windows and bytes of all groups.
  void measure() {
    windows_.resize(blocks_.size());
    room_.resize(blocks_.size());
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (stages_ > 0) trees_.push_back(make_sharing_tree(delays_, blocks_[b], stages_ + 1));
      for (std::size_t p = 0; p < delays_.positions; ++p) {
        Window w{delays_(blocks_[b][0], p), delays_(blocks_[b][0], p)};
        for (const std::uint32_t trial : blocks_[b]) {
          w.low = std::min(w.low, delays_(trial, p));
          w.high = std::max(w.high, delays_(trial, p));
        }
        w.low = w.low / 4 * 4;
        windows_[b].push_back(w);
      }
      room_[b].assign(stages_ + 1, std::vector<std::size_t>(groups_, 0));
      for (std::size_t p = 0; p < delays_.positions; ++p)
        room_[b][0][p / group_rows_] += row_bytes(windows_[b][p]);
      for (std::size_t s = 1; s <= stages_; ++s)
        for (std::size_t n = 0; n < trees_[b].levels[s + 1].size(); ++n)
          for (const Pattern& p : node(b, s, n).patterns)
            room_[b][s][n / nodes_of_group(s)] += entries(p) * entry_bytes_;
    }
  }

  // Bytes of a bundle's rows (stage 0) or sums.
  std::size_t region(std::size_t block, std::size_t stage, std::size_t bundle,
                     std::size_t groups) const {
    std::size_t bytes = slack_bytes(stage);
    const auto& room = room_[block][stage];
    for (std::size_t g = bundle * groups; g < std::min((bundle + 1) * groups, groups_); ++g)
      bytes += room[g];
    return core::round_up(bytes, 16);
  }

  // Shared memory holds two stages at once, one at each end; without stages two bundles.
  std::size_t shared_bytes(std::size_t groups) const {
    const std::size_t bundles = (groups_ + groups - 1) / groups;
    std::size_t most = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (std::size_t k = 0; k < bundles; ++k) {
        if (stages_ == 0)
          most = std::max(
              most, region(b, 0, k, groups) + (k + 1 < bundles ? region(b, 0, k + 1, groups) : 0));
        for (std::size_t s = 0; s < stages_; ++s)
          most = std::max(most, region(b, s, k, groups) + region(b, s + 1, k, groups));
        // The next bundle's rows come while the last sums are read, from the other end.
        if (stages_ % 2 == 1 && k + 1 < bundles)
          most = std::max(most, region(b, 0, k + 1, groups) + region(b, stages_, k, groups));
      }
    return zero_bytes_ + most;
  }

  bool choose_bundle() {
    const std::size_t limit = std::min(shape_.shared_bytes, kMostPlaces * kWordBytes);
    for (std::size_t groups = 1;
         groups * group_rows_ <= std::min(kMostBundleRows, shape_.channels_in_sum); groups *= 2) {
      const std::size_t bytes = shared_bytes(groups);
      if (bytes > limit) break;
      bundle_groups_ = groups;
      list_.shared_bytes = bytes;
      if (groups >= groups_) break;
    }
    return bundle_groups_ > 0;
  }

  // Where a stage's sums begin, in bytes. The last stage is always at the far end.
  std::size_t base(std::size_t block, std::size_t stage, std::size_t bundle) const {
    const bool far = stages_ == 0 ? bundle % 2 == 1 : (stages_ - stage) % 2 == 0;
    return far ? (list_.shared_bytes - region(block, stage, bundle, bundle_groups_)) / 16 * 16
               : zero_bytes_;
  }

  void write_bundle(std::size_t b, std::size_t k) {
    const std::size_t first_row = k * bundle_rows_;
    const std::size_t last_row = std::min(first_row + bundle_rows_, delays_.positions);
    row_at_.clear();
    std::size_t next = base(b, 0, k);
    for (std::size_t p = first_row; p < last_row; ++p) {
      const Window& w = windows_[b][p];
      row_at_.push_back(static_cast<std::uint32_t>(next / kWordBytes));
      staged_.push_back(static_cast<std::uint32_t>(w.low));
      const std::size_t fours = row_bytes(w) / kWordBytes / 4;
      staged_.push_back(static_cast<std::uint32_t>(next / 16 | fours << 16));
      next += row_bytes(w);
      list_.cycles += cost_.stage * static_cast<double>(fours * 4) / kWarp;
    }
    list_.cycles += cost_.barrier * static_cast<double>(1 + stages_);
    for (std::size_t s = 1; s <= stages_; ++s) {
      starts_.push_back(static_cast<std::uint32_t>(ops_.size() / 4));
      write_stage(b, s, k);
      below_ = at_;
    }
    write_places(b, k);
  }

  // The ops of one stage; at_ then has the places of its sums, [node of the bundle][pattern].
  void write_stage(std::size_t b, std::size_t s, std::size_t k) {
    const std::size_t nodes = bundle_groups_ * nodes_of_group(s);
    const std::size_t first = k * nodes;
    const std::size_t last = std::min(first + nodes, trees_[b].levels[s + 1].size());
    std::size_t next = base(b, s, k) / entry_bytes_;
    at_.clear();
    for (std::size_t n = first; n < last; ++n) {
      at_.emplace_back();
      for (const Pattern& p : node(b, s, n).patterns) {
        at_.back().push_back(static_cast<std::uint32_t>(next));
        const std::size_t runs = entries(p) / warp_;
        write_op(static_cast<std::uint32_t>(next),
                 s == 1 ? rows_of(b, n, n - first, p) : halves_of(b, s, n, n - first, p), runs);
        next += entries(p);
        const double sources = s == 1 ? 4 : 2;
        const double words = static_cast<double>(entry_bytes_ / kWordBytes);
        list_.cycles += cost_.make_sums * static_cast<double>(runs * warp_) / kWarp *
                        (words + sources * (s == 1 ? 1 : words));
        adds_ += (sources - 1) * static_cast<double>(p.high - p.low + 1) +
                 (sources - 1) * static_cast<double>(span_ - 1);
      }
    }
  }

  using Sources = std::array<std::uint32_t, 4>;  // 0: zeros

  // Four rows from where a pattern's first entry has them.
  Sources rows_of(std::size_t b, std::size_t n, std::size_t in_bundle, const Pattern& p) const {
    const auto& pairs = trees_[b].levels[1];
    const auto at = [&](std::size_t k, std::int32_t delay) {
      return row_at_[4 * in_bundle + k] +
             static_cast<std::uint32_t>(p.low + delay - windows_[b][4 * n + k].low);
    };
    Sources sources{at(0, 0), 0, 0, 0};
    if (!pairs[2 * n].single) sources[1] = at(1, pairs[2 * n].patterns[p.a].apart);
    if (node(b, 1, n).single) return sources;
    sources[2] = at(2, p.apart);
    const SharingNode& second = pairs[2 * n + 1];
    if (!second.single) sources[3] = at(3, p.apart + second.patterns[p.b].apart);
    return sources;
  }

  Sources halves_of(std::size_t b, std::size_t s, std::size_t n, std::size_t in_bundle,
                    const Pattern& p) const {
    const SharingNode& first = node(b, s - 1, 2 * n);
    Sources sources{
        below_[2 * in_bundle][p.a] + static_cast<std::uint32_t>(p.low - first.patterns[p.a].low), 0,
        0, 0};
    if (node(b, s, n).single) return sources;
    const SharingNode& second = node(b, s - 1, 2 * n + 1);
    sources[1] = below_[2 * in_bundle + 1][p.b] +
                 static_cast<std::uint32_t>(p.low + p.apart - second.patterns[p.b].low);
    return sources;
  }

  void write_op(std::uint32_t to, Sources from, std::size_t runs) {
    for (std::size_t done = 0; done < runs; done += kRuns) {
      const auto some = static_cast<std::uint32_t>(std::min(kRuns, runs - done));
      ops_.insert(ops_.end(),
                  {to | some << 16, from[0] | from[1] << 16, from[2] | from[3] << 16, 0});
      const auto more = static_cast<std::uint32_t>(kRuns * warp_);
      to += more;
      for (std::uint32_t& source : from)
        if (source != 0) source += more;
    }
  }

  void write_places(std::size_t b, std::size_t k) {
    const std::size_t first = k * bundle_groups_;
    const std::size_t pairs = (bundle_groups_ + 1) / 2;
    const std::size_t begin = places_.size();
    places_.resize(begin + pairs * trials_);
    for (std::size_t g = 0; g < bundle_groups_ && first + g < groups_; ++g) {
      for (std::size_t i = 0; i < trials_; ++i) {
        const std::size_t trial = std::min(i, blocks_[b].size() - 1);
        const std::uint32_t at = place(b, first + g, g, trial);
        places_[begin + g / 2 * trials_ + i] |= at << (g % 2 * 16);
      }
      const double words = stages_ == 0 ? 1 : static_cast<double>(entry_bytes_ / kWordBytes);
      const double each = stages_ == 0 && bytes_ ? cost_.add_bytes : cost_.add_sums;
      list_.cycles += each * words * static_cast<double>(trials_ * span_) / kWarp;
      adds_ += static_cast<double>(blocks_[b].size() * span_);
    }
  }

  std::uint32_t place(std::size_t b, std::size_t group, std::size_t in_bundle,
                      std::size_t trial) const {
    if (stages_ == 0)
      return row_at_[in_bundle] +
             static_cast<std::uint32_t>(delays_(blocks_[b][trial], group) - windows_[b][group].low);
    const SharingNode& top = node(b, stages_, group);
    const std::uint32_t pattern = top.pattern_of[trial];
    return at_[in_bundle][pattern] +
           static_cast<std::uint32_t>(top.delay_of[trial] - top.patterns[pattern].low);
  }

  const DelayPlan& plan_;
  const Delays& delays_;
  const GpuCost& cost_;
  std::vector<std::span<const std::uint32_t>> blocks_;
  const GroupShape& shape_;
  std::size_t span_, trials_, levels_, stages_, group_rows_, groups_, warp_;
  bool bytes_;
  std::size_t entry_bytes_, zero_bytes_;
  std::size_t bundle_groups_ = 0, bundle_rows_ = 0;
  std::vector<SharingTree> trees_;
  std::vector<std::vector<Window>> windows_;                 // [block][position]
  std::vector<std::vector<std::vector<std::size_t>>> room_;  // bytes, [block][stage][group]
  std::vector<std::uint32_t> row_at_;                        // words, [row of the bundle]
  std::vector<std::vector<std::uint32_t>> at_, below_;  // entries, [node of the bundle][pattern]
  std::vector<std::uint32_t> staged_, starts_, ops_, places_;  // as tile.kernel has them
  double adds_ = 0;
  GpuWorkList list_;
};

}  // namespace

std::optional<GpuWorkList> make_tile_work_list(const DelayPlan& plan, const GroupShape& shape,
                                               std::size_t levels, const GpuCost& cost) {
  if (levels == 1 || levels > kMostTileLevels) return std::nullopt;
  if ((std::size_t{1} << levels) > shape.channels_in_sum) return std::nullopt;
  return TileWriter(plan, shape, levels, cost).write();
}

}  // namespace tautline::stages::dedisperse
