// Divides the latency that a live search may have among its waits, and its trials into ranges that keep it.
#pragma once

#include "tautline/pipeline/search/search_config.h"
#include "tautline/stages/dedisperse/plan/trials.h"

namespace tautline::pipeline {

/// Of a live search that names none.
inline constexpr double kLiveLatency = 1;

/// The fraction of a latency for each wait: for a block of the input to be full, for a block of noise, for the running
/// mean.
struct LatencyShares {
  double block_s = 0, noise_s = 0, baseline_s = 0;
};

/// A block has a sixteenth, or `block_s` of a source whose own are longer: so that shorter ones change nothing. Throws
/// Error(config) where the boxcars are too wide or the samples too long for it, with the latency that they allow. Of
/// `whole_s`, cleaning in front of the search takes `held_s`.
LatencyShares share_latency(double whole_s, double held_s, double block_s, double sample_s,
                            const SearchConfig& config);

/// The same trials in ranges of like delays, which are searched each for itself: a trial waits for the longest delay of
/// its range, not of all.
stages::dedisperse::DmPlan split_by_delay(const stages::dedisperse::DmPlan& trials,
                                          const stages::dedisperse::Band& band, double latency_s);

}  // namespace tautline::pipeline
