// One list from searches of neighbouring ranges of DM.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/stages/detect/detect.h"

namespace tautline::pipeline {

/// A pulse in samples of the input, its trials counted over the whole plan.
struct PlacedPulse {
  stages::detect::Pulse pulse;
  std::size_t part = 0;        ///< of the plan: which search found it
  std::size_t downsample = 1;  ///< of that part
};

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
