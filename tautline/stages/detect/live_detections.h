// The detections of one beam that later ones may be friends of, by width and trial.
//
// Detections come in the order of their first times. So of those of one trial and one width only the
// one that ends last can have later friends that are not its own friends anyway, and a new detection
// needs to meet only one of each group. Widths are put into octaves. Each octave has a tree over the
// trials, whose nodes know the last end below them, and the group where all below them are of one:
// nodes that end too early, or are of the new detection's own group, are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/sets.h"

namespace tautline::stages::detect {

/// What later friends of a detection need to know of it.
struct LiveDetection {
  std::uint64_t last_time = 0;
  std::uint32_t trial = 0;  ///< of the beam
  std::uint32_t width = 0;
  std::uint32_t group = 0;
};

class LiveDetections {
 public:
  explicit LiveDetections(const Links& links);

  /// Begins with the trials of a beam and nothing live. `lengths`: Config::lengths of the beam, or
  /// none.
  void begin(std::size_t trials, std::span<const std::uint64_t> lengths);
  /// Adds a detection that begins no earlier than any before it, whose trial is counted from the
  /// beam's first: joins the set of `number` with those of its friends.
  void add(const Detection& detection, std::uint32_t number, Sets& sets);
  /// Adds a detection that is earlier than those of add(). Its friends are joined already.
  void restore(const LiveDetection& earlier, Sets& sets);
  /// Removes all, and appends those that were not found to be beyond the reach of later ones.
  void drain(std::vector<LiveDetection>& live);
  /// Whether detections that begin at `time` or later may be friends of this one.
  bool is_live(const LiveDetection& d, std::uint64_t time) const {
    return is_live(d.last_time, d.width / 2, time);
  }
  /// Nodes and detections that were looked at so far.
  std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::size_t kFanShift = 4;  // 16 children
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0}, kMixed = kEmpty - 1, kNone = kEmpty;

  struct Entry : LiveDetection {
    std::uint32_t next = kNone;  // of the same trial and octave
  };
  struct Node {
    std::uint64_t last = 0;         // no detection below ends later
    std::uint32_t group = kEmpty;   // of all detections below that are live, or kMixed
    std::uint32_t entries = kNone;  // of a leaf
  };
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  struct Octave {
    std::vector<Node> nodes;    // of all levels, leaves first; empty until the first detection
    std::vector<Range> trials;  // [trial]: those that may be friends at this octave's widths
    std::uint64_t half = 0;     // half the widest width
  };
  struct Query {
    const Detection& detection;
    std::uint32_t own = 0;   // its group
    std::uint64_t ends = 0;  // friends end then or later
    Sets& sets;
  };

  Octave& octave_of(std::uint64_t width);
  Range neighbours(std::size_t trial) const;
  void find_ranges(Octave& octave) const;
  Range trials_alike(std::size_t octave, const Detection& detection);
  /// Of a group other than the query's own.
  static bool may_have_friends(Node& node, const Query& query) {
    if (node.last < query.ends || node.group == query.own || node.group == kEmpty) return false;
    if (node.group != kMixed) node.group = query.sets.find(node.group);
    return node.group != query.own;
  }
  void visit(Octave& octave, std::size_t level, std::uint32_t first, std::uint32_t last,
             Query& query);
  void meet(const Node& leaf, std::uint32_t trial, Query& query);
  void insert(const LiveDetection& live, std::uint64_t first_time, Sets& sets);
  bool is_live(std::uint64_t last_time, std::uint64_t half, std::uint64_t time) const {
    return last_time + reach_ + half >= time;
  }

  Links links_;
  std::uint64_t reach_;  // links_.time_samples, so that sums do not overflow
  std::size_t trials_ = 0;
  std::vector<std::uint64_t> lengths_;
  std::vector<std::uint64_t> falling_;  // lengths_ without unknown ones, if they fall; or empty
  std::vector<std::size_t> levels_;     // first node of each level
  std::vector<Octave> octaves_;
  std::vector<Entry> entries_;
  std::uint64_t steps_ = 0;
};

}  // namespace tautline::stages::detect
