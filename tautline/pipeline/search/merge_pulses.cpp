#include "tautline/pipeline/search/merge_pulses.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tautline/stages/detect/groups.h"

namespace tautline::pipeline {

namespace {

using stages::detect::Links;
using stages::detect::Pulse;

std::uint64_t gap(std::uint64_t a_first, std::uint64_t a_end, std::uint64_t b_first,
                  std::uint64_t b_end) {
  if (a_end < b_first) return b_first - a_end;
  return b_end < a_first ? a_first - b_end : 0;
}

bool friends(const PlacedPulse& a, const PlacedPulse& b, const Links& links) {
  if (a.part == b.part) return false;
  const Pulse &p = a.pulse, &q = b.pulse;
  if (gap(p.first_trial, p.last_trial, q.first_trial, q.last_trial) > links.dm_trials) return false;
  const std::uint64_t narrow = std::min(p.width, q.width), wide = std::max(p.width, q.width);
  if (static_cast<double>(wide) >
      static_cast<double>(narrow) * static_cast<double>(std::uint64_t{1} << links.width_octaves))
    return false;
  return gap(p.begin, p.end, q.begin, q.end) <=
         links.time_samples * std::max(a.downsample, b.downsample) + narrow / 2;
}

void absorb(Pulse& into, const Pulse& other) {
  const Pulse best = other.snr > into.snr ? other : into;
  into.members += other.members;
  into.begin = std::min(into.begin, other.begin);
  into.end = std::max(into.end, other.end);
  into.first_trial = std::min(into.first_trial, other.first_trial);
  into.last_trial = std::max(into.last_trial, other.last_trial);
  into.snr = best.snr, into.trial = best.trial, into.first = best.first, into.width = best.width;
}

}  // namespace

std::vector<Pulse> join_detections(const std::vector<Pulse>& found,
                                   const std::vector<std::uint64_t>& lengths, const Links& links,
                                   std::size_t widest) {
  Links joining = links;
  joining.join = true;
  joining.before = joining.behind = {};
  std::vector<stages::detect::Detection> detections;
  std::vector<Pulse> pulses;
  // Only of the trials searched here: trials of other parts have another sampling.
  std::vector<std::uint64_t> own(lengths.size(), 0);
  for (const Pulse& pulse : found) {
    if (pulse.separate) {
      detections.push_back(stages::detect::detection_of(pulse, lengths[pulse.trial]));
      own[pulse.trial] = lengths[pulse.trial];
    } else {
      pulses.push_back(pulse);
    }
  }
  stages::detect::Groups groups(joining, widest, lengths.size(), std::move(own));
  groups.add(detections);
  groups.settle(std::numeric_limits<std::uint64_t>::max(), pulses);
  return pulses;
}

PlacedPulse place_pulse(Pulse pulse, std::size_t part, std::size_t first_trial,
                        std::size_t downsample) {
  pulse.trial += first_trial;
  pulse.first_trial += first_trial;
  pulse.last_trial += first_trial;
  pulse.first *= downsample;
  pulse.width *= downsample;
  pulse.begin *= downsample;
  pulse.end *= downsample;
  return {pulse, part, downsample};
}

std::vector<Pulse> merge_pulses(std::vector<PlacedPulse> pulses, const Links& links) {
  std::sort(pulses.begin(), pulses.end(), [](const PlacedPulse& a, const PlacedPulse& b) {
    return std::pair(a.pulse.begin, a.pulse.trial) < std::pair(b.pulse.begin, b.pulse.trial);
  });
  std::size_t coarsest = 1;
  bool are_parts = false;
  for (const PlacedPulse& p : pulses) {
    coarsest = std::max(coarsest, p.downsample);
    are_parts = are_parts || p.part != pulses.front().part;
  }
  stages::detect::Sets sets;
  sets.reset(pulses.size());
  for (std::uint32_t i = 0; are_parts && i < pulses.size(); ++i) {
    // Later pulses begin beyond the reach of this one.
    const Pulse& pulse = pulses[i].pulse;
    const std::uint64_t last = pulse.end + links.time_samples * coarsest + pulse.width / 2;
    for (std::uint32_t j = i + 1; j < pulses.size() && pulses[j].pulse.begin <= last; ++j)
      if (friends(pulses[i], pulses[j], links)) sets.join(i, j);
  }
  std::vector<Pulse> merged;
  std::vector<std::size_t> place(pulses.size(), pulses.size());
  for (std::uint32_t i = 0; i < pulses.size(); ++i) {
    std::size_t& at = place[sets.find(i)];
    if (at < pulses.size()) {
      absorb(merged[at], pulses[i].pulse);
    } else {
      at = merged.size();
      merged.push_back(pulses[i].pulse);
    }
  }
  std::sort(merged.begin(), merged.end(), [](const Pulse& a, const Pulse& b) {
    if (a.snr != b.snr) return a.snr > b.snr;
    return std::pair(a.first, a.trial) < std::pair(b.first, b.trial);
  });
  return merged;
}

}  // namespace tautline::pipeline
