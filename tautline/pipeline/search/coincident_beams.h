// Candidates that several beams have at once: mostly interference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/core/candidate.h"

namespace tautline::pipeline {

/// When two candidates of different beams are one event: the gap between their boxcars is at most
/// `link_samples`, and their DMs differ by a delay over the band of at most the wider one's width
/// and `link_samples`.
struct Coincidence {
  std::vector<std::int64_t> beam_starts;  ///< [Candidate::beam] sample 0 of the beam, in samples
  double delay_samples_per_dm = 0;        ///< over the band
  std::size_t link_samples = 3;
};

/// Sets Candidate::beams: how many beams have a candidate at once with this one, its own among
/// them. The time grows with the number of candidates times those within a boxcar's width.
void count_beams(std::span<core::Candidate> candidates, const Coincidence& coincidence);

/// How many beams may have a candidate at once before it is marked: `asked`, or where that is 0 a
/// quarter of the beams, and at least 2.
std::size_t most_beams(std::size_t asked, std::size_t beams);

}  // namespace tautline::pipeline
