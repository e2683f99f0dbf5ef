// Candidates that are changes of the band's level: beside a pulse the level is the same (docs/design/empty.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// The boxcar of a candidate in the highest channel, as the reader counts.
struct CandidatePlace {
  std::uint64_t first = 0, width = 1;
  std::uint64_t sweep = 0;  ///< samples that the lowest channel is later
  double snr = 0;
};

/// Whether the level of most channels, at one time in all of them, steps at a candidate, or settles at an end of `data`
/// within a second of it, by half of its height or more. `data`: searched without a break. `counts`: [channel].
bool level_changes_at(formats::FilterbankReader& reader, const SampleRange& data,
                      const CandidatePlace& candidate, const std::vector<bool>& counts);

/// The warning that names these candidates; empty for none. `channels`: there are some.
std::string changing_level_text(std::span<const core::Candidate> candidates, bool channels);

}  // namespace tautline::pipeline
