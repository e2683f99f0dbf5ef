// When two detections belong to one pulse: the definition, which everything that groups detections
// tests pairs with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tautline/stages/detect/events.h"

namespace tautline::stages::detect {

/// Whether two detections are friends: detections of one beam for which all of these hold:
///
/// - DM: |difference of trials| <= dm_trials, or |difference of lengths| <= min(widths) / 2. In the
///   second case their longest delays differ by no more than that, and a pulse of this width looks
///   alike in both trials.
/// - Time: gap between the events <= time_samples + min(widths) / 2.
/// - Width: max(widths) <= min(widths) 2^width_octaves.
inline bool friends(const Detection& a, const Detection& b, const Links& links) {
  const std::uint64_t narrow = std::min(a.width, b.width), wide = std::max(a.width, b.width);
  const std::uint64_t gap = a.last_time < b.first_time   ? b.first_time - a.last_time
                            : b.last_time < a.first_time ? a.first_time - b.last_time
                                                         : 0;
  if (gap > narrow / 2 && gap - narrow / 2 > links.time_samples) return false;
  const std::size_t trials = a.trial < b.trial ? b.trial - a.trial : a.trial - b.trial;
  if (trials > links.dm_trials) {
    if (a.length == 0 || b.length == 0) return false;
    const std::uint64_t apart = a.length < b.length ? b.length - a.length : a.length - b.length;
    if (apart > narrow / 2) return false;
  }
  const std::uint64_t octaves = links.width_octaves;
  if (wide >> octaves > narrow || (wide >> octaves == narrow && narrow << octaves != wide))
    return false;
  return links.beam_trials == 0 || a.trial / links.beam_trials == b.trial / links.beam_trials;
}

}  // namespace tautline::stages::detect
