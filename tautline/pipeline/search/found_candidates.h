// Pulses as candidates during a search: for consumers of a stream of kind "pulses".
#pragma once

#include <cstdint>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/engine/block.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/search/merge_pulses.h"
#include "tautline/pipeline/search/search_node.h"

namespace tautline::pipeline {

struct FoundCandidate {
  core::Candidate candidate;  ///< samples on the filterbank's grid
  core::Instant time;  ///< of its boxcar's middle at f_ref, the centre of the highest channel
  double width_s = 0;  ///< of the boxcar
  double sweep_s = 0;  ///< how much later the lowest channel has the pulse than f_ref
  double latency_s =
      0;  ///< data that had come behind the pulse in the lowest channel when it was given
};

/// What the blocks of one input hold. Of a search in several passes over its input, detections come pass by pass and
/// are joined at the end only: those are refused.
class FoundCandidates {
 public:
  /// Throws Error(config) for a search in several passes.
  explicit FoundCandidates(const PulseStream& stream);

  void begin_segment(const engine::Block& first);
  /// Pulses of several ranges of trials are joined: one that reaches to the end of its range waits until the next one
  /// has been searched as far, as its best trial may lie there.
  std::vector<FoundCandidate> in(const engine::Block& block);
  /// The pulses that still wait at the end of a segment.
  std::vector<FoundCandidate> rest();
  /// The data from which candidates get their times, [beam].
  const std::vector<formats::candidates::SearchDescription>& searched() const { return searched_; }

 private:
  void take(const engine::Block& block);
  bool waits(const PlacedPulse& pulse) const;
  std::vector<FoundCandidate> give(bool all);
  FoundCandidate candidate_from(const stages::detect::Pulse& pulse) const;

  PulseStream stream_;
  std::vector<std::uint64_t>
      searched_behind_;  // [range of the DM plan]: samples that come until it has been searched
  std::vector<PlacedPulse> held_;
  std::uint64_t came_ = 0;   // samples of the segment, with those that the source delays
  std::vector<double> dms_;  // [trial]
  std::vector<formats::candidates::SearchDescription> searched_;
  FilterbankPart part_;           // of the segment
  std::uint64_t grid_first_ = 0;  // of its first sample
  std::uint64_t first_ = 0;       // of the same in blocks
};

/// A pulse whose samples count from `grid_first`. `beam`: of the stream.
core::Candidate candidate_of(const stages::detect::Pulse& pulse, std::uint64_t grid_first,
                             std::size_t beam, const PulseStream& stream,
                             const std::vector<double>& dms);

/// The data from which the candidates of a stream get their times, [beam].
std::vector<formats::candidates::SearchDescription> searches_of(const PulseStream& stream);

}  // namespace tautline::pipeline
