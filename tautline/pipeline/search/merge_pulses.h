// One list from searches of neighbouring ranges of DM.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

/// A pulse in samples of the input, its trials counted over the whole plan.
struct PlacedPulse {
  stages::detect::Pulse pulse;
  std::size_t part = 0;        ///< trials that are sampled alike: a segment of the plan
  std::size_t downsample = 1;  ///< of that part
};

/// What searches of parts of the same trials gave, their trials counted over all: pulses, and
/// detections each for itself (Pulse::separate), of which friends of friends are joined. So they are
/// the pulses that one search of all trials gives. `lengths`: Config::lengths of all; `widest`: the
/// widest boxcar.
std::vector<stages::detect::Pulse> join_detections(const std::vector<stages::detect::Pulse>& found,
                                                   const std::vector<std::uint64_t>& lengths,
                                                   const stages::detect::Links& links,
                                                   std::size_t widest);

/// The pulse of a part whose trials begin at `first_trial` and whose samples are `downsample` of
/// the input's.
PlacedPulse place_pulse(stages::detect::Pulse pulse, std::size_t part, std::size_t first_trial,
                        std::size_t downsample);

/// Joins pulses of different parts that are friends as detections are: the gap between the trials
/// that they span is at most links.dm_trials, that between their samples at most links.time_samples
/// (of the coarser part) and half the narrower one's width, and their widths differ at most by
/// links.width_octaves. The best one's place stays, best first.
std::vector<stages::detect::Pulse> merge_pulses(std::vector<PlacedPulse> pulses,
                                                const stages::detect::Links& links);

}  // namespace tautline::pipeline
