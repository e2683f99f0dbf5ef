// Groups the detections of all trials of a stream: friends of friends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/friends.h"
#include "tautline/stages/detect/live_detections.h"
#include "tautline/stages/detect/sets.h"
#include "tautline/stages/detect/sizes.h"

namespace tautline::stages::detect {

/// The pulse of a group: the span of its members, and the boxcar of the member in the middle of
/// those that are equal to the brightest. Equal are the members within kEqualSigmas of the
/// brightest that overlap it in time (events.h says why). The middle is the member whose trial is
/// nearest the mean trial, weighted by the S/N above the margin; among several, the brightest, then
/// that of the first trial, then the first in time.
Pulse pulse_of(const std::vector<Detection>& members);

/// Whether detection d, in one of the `trials` trials of all beams, could have friends in trials of
/// other searches (Links::before, Links::behind).
bool reaches_elsewhere(const Detection& d, const Links& links, std::size_t trials);

/// Appends a complete group to `pulses`: as one pulse, or as separate detections where one of them
/// could have friends in other searches.
void give_group(const std::vector<Detection>& group, const Links& links, std::size_t trials,
                std::vector<Pulse>& pulses);

/// Converts a detection to a separate pulse, and back. `length` is its trial's Config::lengths.
Pulse separate_pulse(const Detection& detection);
Detection detection_of(const Pulse& separate, std::uint64_t length);

/// A group that later detections may join: its span, and the members that its pulse may depend on.
class OpenGroup {
 public:
  OpenGroup() = default;
  explicit OpenGroup(const Detection& first);

  /// Adds members. Those too weak to be equal to the brightest are kept only with `all`.
  void add(const Detection& member, bool all);
  void add(OpenGroup&& other, bool all);
  /// Drops members that cannot be equal to the brightest: their boxcars end by `floor` and do not
  /// overlap the brightest, and nothing that begins before `floor` will be brighter.
  void drop_before(std::uint64_t floor);
  /// Whether the members that are kept have doubled since drop_before.
  bool has_grown() const { return kept_.size() >= most_; }
  const Detection& best() const { return best_; }

  /// Appends the complete group to `pulses`, as give_group does.
  void give(const Links& links, std::size_t trials, std::vector<Pulse>& pulses) const;
  template <class Archive>
  void exchange(Archive& archive) {
    archive(span_, best_, kept_);
  }

 private:
  static constexpr std::size_t kFew = 64;

  void widen(const Pulse& span);
  bool is_weak(const Detection& d) const;
  void keep(const Detection& d, bool all);

  Pulse span_;  // members, begin, end and trials
  Detection best_;
  std::vector<Detection> kept_;
  std::size_t most_ = kFew;
};

/// Detections are taken in the order of their first times, whatever the blocks they come in. What
/// is kept are the detections that later ones may be friends of (live_detections.h) and, of each
/// group that has such, an OpenGroup.
class Groups {
 public:
  /// `trials` of all beams together, and their Config::lengths, which may be none.
  Groups(const Links& links, std::size_t widest, std::size_t trials,
         std::vector<std::uint64_t> lengths);
  explicit Groups(const Setting& setting)
      : Groups(setting.config.links, setting.sizes.widest(), setting.config.trials,
               setting.config.lengths) {}

  /// Adds detections, in any order.
  void add(const std::vector<Detection>& detections) {
    waiting_.insert(waiting_.end(), detections.begin(), detections.end());
  }
  /// Appends the pulses of the groups that later detections, which begin at `horizon` or after it,
  /// cannot join.
  void settle(std::uint64_t horizon, std::vector<Pulse>& pulses);
  /// The work so far: detections, groups and nodes of trees that were looked at. In proportion to the number of
  /// detections, however many of them are friends.
  std::uint64_t steps() const { return steps_ + live_.steps(); }
  template <class Archive>
  void exchange(Archive& archive) {
    archive(waiting_);
    for (Beam& beam : beams_) beam.exchange(archive);
  }

 private:
  struct Beam {
    std::vector<LiveDetection> live;
    std::vector<OpenGroup> groups;

    template <class Archive>
    void exchange(Archive& archive) {
      std::vector<std::uint8_t> each(groups.size());  // as many as were saved, after reading
      archive(live, each);
      groups.resize(each.size());
      for (OpenGroup& group : groups) group.exchange(archive);
    }
  };
  struct Begin {
    std::uint64_t number = 0;  // grows with beam and first time
    std::uint32_t index = 0;   // of waiting_
  };

  std::size_t beam_trials() const { return trials_ / beams_.size(); }
  void take_begun(std::uint64_t horizon);
  void join(Beam& beam, std::size_t first_trial, std::span<const Detection> begun);
  void close(Beam& beam, std::uint64_t now, std::vector<Pulse>& pulses);

  Links links_;
  std::size_t widest_, trials_;
  std::vector<std::uint64_t> lengths_;
  std::vector<Beam> beams_;
  std::vector<Detection> waiting_;
  // Work memory.
  LiveDetections live_;
  Sets sets_;
  std::vector<Begin> order_, sorted_;
  std::vector<Detection> begun_;       // of one settle, by beam and time
  std::vector<std::uint32_t> places_;  // of sets and groups among a beam's groups
  std::uint64_t steps_ = 0;
};

}  // namespace tautline::stages::detect
