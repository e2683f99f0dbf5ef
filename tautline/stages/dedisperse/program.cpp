#include "tautline/stages/dedisperse/program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kLineBytes = 64;

// Where the sums of a block's trials go after each bundle of channels.
class Sums {
 public:
  explicit Sums(const Room& room) : room_(room) {}

  /// Channels that still fit.
  std::size_t room() const { return room_.channels_in_sum - held_; }

  /// `bundle` has this many channels; the next group to add has `next`, none after the last.
  void add(Bundle& bundle, std::size_t channels, std::size_t next) {
    bundle.start = start_;
    bundle.carried = carried_ > 0;
    start_ = false;
    held_ += channels;
    if (next > 0 && next <= room()) return;
    carried_ += std::exchange(held_, 0);
    bundle.finish = next == 0 || carried_ + room_.channels_in_sum > room_.channels_in_trial;
    bundle.carry = !bundle.finish;
    if (!bundle.finish) return;
    bundle.first_output = !std::exchange(written_, true);
    start_ = true;
    carried_ = 0;
  }

 private:
  const Room& room_;
  std::size_t held_ = 0, carried_ = 0;  // channels
  bool start_ = true, written_ = false;
};

// Lays out and lists the work of one block.
class BlockWriter {
 public:
  BlockWriter(Program& program, const Room& room, const Delays& delays, const Tree& tree,
              std::size_t trials)
      : program_(program), room_(room), delays_(delays), tree_(tree), trials_(trials) {}

  void write() {
    const std::size_t top = program_.shape.levels;
    const auto& nodes = tree_.levels[top];
    lay_out_lower_levels(top);
    std::size_t g = 0;
    Sums sums(room_);
    while (g < nodes.size()) {
      // As many groups as scratch and the range of a sum have room for.
      std::size_t groups = 0, bytes = 0, channels = 0;
      while (g + groups < nodes.size()) {
        const std::size_t more = node_elements(top, g + groups) * room_.sum_bytes;
        const std::size_t wider = width(top, g + groups);
        if (groups > 0 && (bytes + more > room_.scratch_bytes || channels + wider > sums.room()))
          break;
        bytes += more, channels += wider, ++groups;
      }
      write_bundle(g, groups);
      g += groups;
      sums.add(program_.bundles.back(), channels, g < nodes.size() ? width(top, g) : 0);
    }
  }

 private:
  // Sums of a node: where each pattern's begin.
  using Places = std::vector<std::uint32_t>;

  std::size_t times(const Pattern& p) const {
    return program_.shape.time_tile + static_cast<std::size_t>(p.high - p.low);
  }
  std::size_t node_elements(std::size_t level, std::size_t g) const {
    std::size_t elements = 0;
    for (const Pattern& p : tree_.levels[level][g].patterns)
      elements += row_room(times(p), room_.sum_bytes);
    return elements;
  }
  // Channels that a node covers.
  std::size_t width(std::size_t level, std::size_t g) const {
    const std::size_t first = g << level;
    return std::min(first + (std::size_t{1} << level), delays_.positions) - first;
  }

  // Below the top, the sums of two nodes of each level are alive at once: an even and an odd one.
  void lay_out_lower_levels(std::size_t top) {
    std::size_t next = 0;
    lower_.assign(top, {0, 0});
    for (std::size_t l = 1; l < top; ++l) {
      std::size_t most[2] = {0, 0};
      for (std::size_t g = 0; g < tree_.levels[l].size(); ++g)
        most[g % 2] = std::max(most[g % 2], node_elements(l, g));
      lower_[l] = {next, next + most[0]};
      next += most[0] + most[1];
    }
    upper_ = next;
  }

  void write_bundle(std::size_t first, std::size_t groups) {
    const std::size_t top = program_.shape.levels;
    Bundle bundle{program_.adds.size(),
                  0,
                  program_.places.size(),
                  groups,
                  first << top,
                  std::min((first + groups) << top, delays_.positions) - (first << top)};
    std::size_t next = upper_;
    program_.places.resize(program_.places.size() + groups * trials_);
    for (std::size_t k = 0; k < groups; ++k) {
      const Node& node = tree_.levels[top][first + k];
      const Places at = write_node(top, first + k, next);
      next += node_elements(top, first + k);
      for (std::size_t i = 0; i < trials_; ++i) {
        const std::uint32_t pattern = node.pattern_of[i];
        program_.places[bundle.first_place + i * groups + k] =
            at[pattern] + static_cast<std::uint32_t>(node.delay_of[i] - node.patterns[pattern].low);
      }
    }
    bundle.adds = program_.adds.size() - bundle.first_add;
    program_.bundles.push_back(bundle);
    program_.scratch_elements = std::max(program_.scratch_elements, next);
    program_.counted_adds += static_cast<double>(groups * trials_);
  }

  // The adds that make a node's sums, its halves' first.
  Places write_node(std::size_t level, std::size_t g, std::size_t to) {
    const Node& node = tree_.levels[level][g];
    if (level == 1) return write_pairs(node, g, to);
    const Places a = write_node(level - 1, 2 * g, lower_[level - 1][0]);
    if (node.single) return a;
    const Places b = write_node(level - 1, 2 * g + 1, lower_[level - 1][1]);
    const Node& first = tree_.levels[level - 1][2 * g];
    const Node& second = tree_.levels[level - 1][2 * g + 1];
    Places at;
    for (const Pattern& p : node.patterns) {
      at.push_back(static_cast<std::uint32_t>(to));
      const std::uint32_t from_a =
          a[p.a] + static_cast<std::uint32_t>(p.low - first.patterns[p.a].low);
      const std::uint32_t from_b =
          b[p.b] + static_cast<std::uint32_t>(p.low + p.apart - second.patterns[p.b].low);
      put({at.back(), static_cast<std::uint32_t>(times(p)), from_a, from_b, Add::kScratch,
           Add::kScratch});
      to += row_room(times(p), room_.sum_bytes);
    }
    return at;
  }

  Places write_pairs(const Node& node, std::size_t g, std::size_t to) {
    Places at;
    const auto channel = static_cast<std::uint32_t>(2 * g);
    for (const Pattern& p : node.patterns) {
      at.push_back(static_cast<std::uint32_t>(to));
      put({at.back(), static_cast<std::uint32_t>(times(p)), static_cast<std::uint32_t>(p.low),
           static_cast<std::uint32_t>(p.low + p.apart), channel,
           node.single ? Add::kNone : channel + 1});
      to += row_room(times(p), room_.sum_bytes);
    }
    return at;
  }

  void put(const Add& add) {
    program_.adds.push_back(add);
    program_.counted_adds +=
        static_cast<double>(add.length) / static_cast<double>(program_.shape.time_tile);
  }

  Program& program_;
  const Room& room_;
  const Delays& delays_;
  const Tree& tree_;
  std::size_t trials_;
  std::vector<std::array<std::size_t, 2>> lower_;
  std::size_t upper_ = 0;
};

// No sharing: bundles of channels whose windows stay in the first-level cache together.
void write_plain(Program& program, const Room& room, const Delays& delays,
                 std::span<const std::uint32_t> block) {
  const auto window = [&](std::size_t p) {
    const auto span = static_cast<std::size_t>(delays(block.back(), p) - delays(block.front(), p));
    return (program.shape.time_tile + span) * room.row_bytes;
  };
  Sums sums(room);
  for (std::size_t p = 0; p < delays.positions;) {
    const std::size_t most = std::min(delays.positions - p, sums.room());
    std::size_t groups = 0, bytes = 0;
    while (groups < most) {
      bytes += window(p + groups);
      if (groups >= 16 && bytes > room.near_bytes) break;
      ++groups;
    }
    program.bundles.push_back({program.adds.size(), 0, program.places.size(), groups, p, groups});
    sums.add(program.bundles.back(), groups, p + groups < delays.positions ? 1 : 0);
    for (const std::uint32_t trial : block)
      for (std::size_t k = 0; k < groups; ++k)
        program.places.push_back(static_cast<std::uint32_t>(delays(trial, p + k)));
    p += groups;
  }
  program.counted_adds += static_cast<double>(block.size() * delays.positions);
}

}  // namespace

std::size_t row_room(std::size_t times, std::size_t sum_bytes) {
  const std::size_t lines = (times * sum_bytes + kLineBytes - 1) / kLineBytes + 1;
  return (lines | 1) * kLineBytes / sum_bytes;
}

std::size_t Program::bytes() const {
  return blocks.size() * sizeof(Block) + bundles.size() * sizeof(Bundle) +
         adds.size() * sizeof(Add) + places.size() * sizeof(std::uint32_t);
}

Program make_program(const Problem& problem, const Delays& delays, const Shape& shape,
                     const Room& room) {
  Program program;
  program.shape = shape;
  const std::span<const std::uint32_t> order(problem.order());
  for (std::size_t first = 0; first < order.size(); first += shape.block_trials) {
    const auto block = order.subspan(first, std::min(shape.block_trials, order.size() - first));
    const std::size_t first_bundle = program.bundles.size();
    if (shape.levels == 0) {
      write_plain(program, room, delays, block);
    } else {
      BlockWriter(program, room, delays, make_tree(delays, block, shape.levels), block.size())
          .write();
    }
    program.blocks.push_back(
        {first, block.size(), first_bundle, program.bundles.size() - first_bundle});
  }
  program.places.resize(program.places.size() + kPlacesAhead);
  for (const Bundle& bundle : program.bundles) program.carries |= bundle.carry;
  if (program.scratch_elements > std::numeric_limits<std::uint32_t>::max())
    throw core::Error(core::ErrorKind::memory, "dedisperse scratch",
                      std::to_string(program.scratch_elements) + " elements", "fewer than 2^32");
  return program;
}

}  // namespace tautline::stages::dedisperse
