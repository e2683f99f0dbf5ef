// Friends of friends among the detections of all trials, as a stream brings them.
#pragma once

#include <cstdint>
#include <vector>

#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/events.h"

namespace tautline::stages::detect {

/// Whether two detections of one beam are friends, by all three of:
///
/// - DM: |difference of trials| <= dm_trials, or of their lengths <= min(widths) / 2. Then their
///   longest delays differ by no more, and something that wide looks alike in both.
/// - Time between the events <= time_samples + min(widths) / 2.
/// - Width: max(widths) <= min(widths) 2^width_octaves.
bool friends(const Detection& a, const Detection& b, const Links& links);

/// A pulse of the detections: what they span, and the boxcar of the one in their middle. The
/// brightest of many places, each with noise of its own, is brighter than the right one and lies
/// beside it; so of the detections that are weaker than the brightest by less than one (sigma) and
/// overlap it in time, the one counts whose trial is nearest their mean, weighted by what they
/// exceed that limit by. Of equals the brightest, then the first trial's, then the first in time.
Pulse pulse_of(const std::vector<Detection>& members);

/// Whether one of `trials` trials of each beam, d's, could have friends before the first or behind
/// the last of them (Links::before, behind).
bool reaches_elsewhere(const Detection& d, const Links& links, std::size_t trials);

/// A complete group as `pulses`: one, or each detection for itself where Links asks for that.
void give_group(const std::vector<Detection>& group, const Links& links, std::size_t trials,
                std::vector<Pulse>& pulses);

/// A detection as Links::join = false gives it, and back; `length` is its trial's Config::lengths.
Pulse separate_pulse(const Detection& detection);
Detection detection_of(const Pulse& separate, std::uint64_t length);

class Groups {
 public:
  /// `trials` of all beams together.
  Groups(const Links& links, std::size_t widest, std::size_t trials)
      : links_(links), widest_(widest), trials_(trials) {}

  /// Detections in any order.
  void add(const std::vector<Detection>& detections) {
    open_.insert(open_.end(), detections.begin(), detections.end());
  }
  /// Whatever comes later begins at `horizon` or after it: appends the pulses of the groups that it
  /// cannot join.
  void settle(std::uint64_t horizon, std::vector<Pulse>& pulses);

 private:
  Links links_;
  std::size_t widest_, trials_;
  std::vector<Detection> open_;
};

}  // namespace tautline::stages::detect
