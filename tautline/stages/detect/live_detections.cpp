#include "tautline/stages/detect/live_detections.h"

#include <algorithm>
#include <bit>

#include "tautline/stages/detect/friends.h"

namespace tautline::stages::detect {

namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;

std::size_t octave_number(std::uint64_t width) {
  return static_cast<std::size_t>(std::bit_width(width)) - 1;
}

// With unknown ones (0) as long as those before them. Empty where some trial is longer than one
// before it.
std::vector<std::uint64_t> falling(std::span<const std::uint64_t> lengths) {
  std::vector<std::uint64_t> known(lengths.begin(), lengths.end());
  std::uint64_t last = 0;
  for (std::uint64_t& length : known) {
    if (length == 0) length = last;
    if (last != 0 && length > last) return {};
    last = length;
  }
  // Leading unknown ones are as long as the first that is known.
  const auto first =
      std::find_if(known.begin(), known.end(), [](std::uint64_t l) { return l != 0; });
  if (first != known.end()) std::fill(known.begin(), first, *first);
  return known;
}

}  // namespace

LiveDetections::LiveDetections(const Links& links)
    : links_(links), reach_(std::min<std::uint64_t>(links.time_samples, kLongest)) {
  links_.beam_trials = 0;  // one beam at a time
}

void LiveDetections::begin(std::size_t trials, std::span<const std::uint64_t> lengths) {
  if (trials == trials_ &&
      std::equal(lengths.begin(), lengths.end(), lengths_.begin(), lengths_.end()))
    return;
  trials_ = trials;
  lengths_.assign(lengths.begin(), lengths.end());
  falling_ = falling(lengths);
  octaves_.clear();
  levels_.assign(1, 0);
  for (std::size_t nodes = trials;; nodes = ((nodes - 1) >> kFanShift) + 1) {
    levels_.push_back(levels_.back() + nodes);
    if (nodes == 1) break;
  }
}

LiveDetections::Octave& LiveDetections::octave_of(std::uint64_t width) {
  const std::size_t number = octave_number(width);
  while (octaves_.size() <= number) {
    Octave& octave = octaves_.emplace_back();
    octave.half = (std::uint64_t{1} << (octaves_.size() - 1)) - 1;
  }
  Octave& octave = octaves_[number];
  if (octave.nodes.empty()) octave.nodes.resize(levels_.back());
  return octave;
}

LiveDetections::Range LiveDetections::neighbours(std::size_t trial) const {
  const std::size_t apart = std::min(links_.dm_trials, trials_);
  return {static_cast<std::uint32_t>(trial - std::min(trial, apart)),
          static_cast<std::uint32_t>(std::min(trials_ - 1, trial + apart))};
}

// For each trial, those that are near enough for two detections of the octave's widest.
void LiveDetections::find_ranges(Octave& octave) const {
  octave.trials.resize(trials_);
  std::uint32_t first = 0, last = 0;
  for (std::size_t trial = 0; trial < trials_; ++trial) {
    Range& range = octave.trials[trial] = neighbours(trial);
    if (!falling_.empty()) {
      while (falling_[first] > falling_[trial] + octave.half) ++first;
      while (last + 1 < trials_ && falling_[last + 1] + octave.half >= falling_[trial]) ++last;
      range = {std::min(range.first, first), std::max(range.last, last)};
    } else if (!lengths_.empty()) {
      range = {0, static_cast<std::uint32_t>(trials_ - 1)};
    }
  }
}

// Trials in which detections of the octave are near enough to `detection`.
LiveDetections::Range LiveDetections::trials_alike(std::size_t octave, const Detection& detection) {
  Octave& narrow = octaves_[octave];
  if (narrow.trials.empty()) find_ranges(narrow);
  Range range = narrow.trials[detection.trial];
  const std::uint64_t half = detection.width / 2,
                      length = falling_.empty() ? 0 : falling_[detection.trial];
  if (length == 0 || half >= narrow.half) return range;
  // For a narrower one of the octave they are fewer.
  const Range beside = neighbours(detection.trial);
  const auto at = [&](std::uint32_t trial) { return falling_.begin() + trial; };
  if (range.first < beside.first)
    range.first = static_cast<std::uint32_t>(
        std::partition_point(at(range.first), at(beside.first),
                             [&](std::uint64_t l) { return l > length + half; }) -
        falling_.begin());
  if (range.last > beside.last)
    range.last = static_cast<std::uint32_t>(
        std::partition_point(at(beside.last) + 1, at(range.last) + 1,
                             [&](std::uint64_t l) { return l + half >= length; }) -
        falling_.begin() - 1);
  return range;
}

void LiveDetections::add(const Detection& detection, std::uint32_t number, Sets& sets) {
  octave_of(detection.width);
  const std::size_t own = octave_number(detection.width);
  const std::size_t apart = links_.width_octaves;
  const std::uint64_t half = detection.width / 2;
  Query query{detection, sets.find(number), 0, sets};
  const auto look = [&](std::size_t other, const auto& trials) {
    Octave& octave = octaves_[other];
    if (octave.nodes.empty()) return;
    const std::uint64_t reach = reach_ + std::min(half, octave.half);
    query.ends = detection.first_time - std::min(detection.first_time, reach);
    if (!may_have_friends(octave.nodes.back(), query)) return;
    const Range range = trials();
    visit(octave, levels_.size() - 2, range.first, range.last, query);
  };
  const auto alike = [&] { return trials_alike(own, detection); };
  // Neighbours first: what is further away is of their group, mostly.
  look(own, [&] { return neighbours(detection.trial); });
  if (!lengths_.empty()) look(own, alike);
  for (std::size_t k = own - std::min(own, apart); k < own; ++k)
    look(k, [&] { return trials_alike(k, detection); });
  for (std::size_t k = own + 1; k < octaves_.size() && k - own <= apart; ++k) look(k, alike);
  insert({detection.last_time, static_cast<std::uint32_t>(detection.trial),
          static_cast<std::uint32_t>(detection.width), query.own},
         detection.first_time, sets);
}

// Nodes of a level that have trials of [first, last].
void LiveDetections::visit(Octave& octave, std::size_t level, std::uint32_t first,
                           std::uint32_t last, Query& query) {
  const std::size_t shift = level * kFanShift;
  steps_ += (last >> shift) - (first >> shift) + 1;
  for (std::uint32_t n = first >> shift; n <= last >> shift; ++n) {
    Node& node = octave.nodes[levels_[level] + n];
    if (!may_have_friends(node, query)) continue;
    if (level == 0) {
      meet(node, n, query);
    } else {
      const std::uint32_t begin = n << shift;
      const std::uint32_t end = begin + (std::uint32_t{1} << shift) - 1;
      visit(octave, level - 1, std::max(first, begin), std::min(last, end), query);
    }
  }
}

void LiveDetections::meet(const Node& leaf, std::uint32_t trial, Query& query) {
  for (std::uint32_t e = leaf.entries; e != kNone; e = entries_[e].next) {
    ++steps_;
    const Entry& entry = entries_[e];
    const std::uint32_t group = query.sets.find(entry.group);
    if (group == query.own) continue;
    const std::uint64_t first_time = std::min(entry.last_time, query.detection.first_time);
    const Detection other{trial,
                          first_time,
                          entry.last_time,
                          0,
                          0,
                          entry.width,
                          lengths_.empty() ? 0 : lengths_[trial]};
    if (friends(other, query.detection, links_)) query.own = query.sets.join(group, query.own);
  }
}

void LiveDetections::restore(const LiveDetection& earlier, Sets& sets) {
  octave_of(earlier.width);
  insert(earlier, 0, sets);
}

void LiveDetections::insert(const LiveDetection& live, std::uint64_t first_time, Sets& sets) {
  Octave& octave = octave_of(live.width);
  const std::uint32_t own = sets.find(live.group);
  Node& leaf = octave.nodes[live.trial];
  leaf.last = live.last_time;
  leaf.group = own;
  // Takes out what has no later friends, or none that this one does not have, too.
  bool is_covered = false;
  for (std::uint32_t* next = &leaf.entries; *next != kNone; ++steps_) {
    Entry& entry = entries_[*next];
    const bool alike = entry.width == live.width;
    if ((alike && entry.last_time <= live.last_time) || !is_live(entry, first_time)) {
      entry.width = 0;
      *next = entry.next;
      continue;
    }
    is_covered = is_covered || alike;
    leaf.last = std::max(leaf.last, entry.last_time);
    if (sets.find(entry.group) != own) leaf.group = kMixed;
    next = &entry.next;
  }
  if (!is_covered) {
    entries_.push_back({live, leaf.entries});
    leaf.entries = static_cast<std::uint32_t>(entries_.size() - 1);
  }
  for (std::size_t level = 1; level + 1 < levels_.size(); ++level) {
    Node& node = octave.nodes[levels_[level] + (live.trial >> level * kFanShift)];
    if (node.group == kEmpty || !is_live(node.last, octave.half, first_time)) {
      node.last = leaf.last;
      node.group = leaf.group;
      continue;
    }
    node.last = std::max(node.last, live.last_time);
    if (node.group != kMixed && (leaf.group == kMixed || sets.find(node.group) != own))
      node.group = kMixed;
  }
}

void LiveDetections::drain(std::vector<LiveDetection>& live) {
  for (const Entry& entry : entries_) {
    if (entry.width == 0) continue;  // another entry of its leaf took it out
    Octave& octave = octaves_[octave_number(entry.width)];
    for (std::size_t level = 0; level + 1 < levels_.size(); ++level)
      octave.nodes[levels_[level] + (entry.trial >> level * kFanShift)] = {};
    live.push_back(entry);
  }
  entries_.clear();
}

}  // namespace tautline::stages::detect
