// Groups the detections of all trials of a stream: friends of friends.
#pragma once

#include <cstdint>
#include <vector>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/events.h"

namespace tautline::stages::detect {

/// Whether two detections are friends: detections of one beam for which all of these hold:
///
/// - DM: |difference of trials| <= dm_trials, or |difference of lengths| <= min(widths) / 2. In the
///   second case their longest delays differ by no more than that, and a pulse of this width looks
///   alike in both trials.
/// - Time: gap between the events <= time_samples + min(widths) / 2.
/// - Width: max(widths) <= min(widths) 2^width_octaves.
bool friends(const Detection& a, const Detection& b, const Links& links);

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

class Groups {
 public:
  /// `trials` of all beams together.
  Groups(const Links& links, std::size_t widest, std::size_t trials)
      : links_(links), widest_(widest), trials_(trials) {}

  /// Adds detections, in any order.
  void add(const std::vector<Detection>& detections) {
    open_.insert(open_.end(), detections.begin(), detections.end());
  }
  /// Appends the pulses of the groups that later detections, which begin at `horizon` or after it,
  /// cannot join.
  void settle(std::uint64_t horizon, std::vector<Pulse>& pulses);
  template <class Archive>
  void exchange(Archive& archive) {
    archive(open_);
  }

 private:
  Links links_;
  std::size_t widest_, trials_;
  std::vector<Detection> open_;
};

}  // namespace tautline::stages::detect
