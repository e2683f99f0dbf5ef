// Compares the candidates of a search with the pulses of a simulated filterbank.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tautline/core/candidate.h"

namespace tautline::pipeline {

/// A pulse of the truth, and the brightest candidate that is this pulse.
struct ComparedPulse {
  double dm = 0, time_s = 0, width_s = 0, snr = 0;
  std::optional<core::Candidate> found;
};

struct CandidateComparison {
  std::vector<ComparedPulse> pulses;  ///< pulses that are whole in the file, brightest first
  std::size_t candidates = 0;
  std::size_t found = 0;         ///< pulses with a candidate
  std::size_t duplicates = 0;    ///< more candidates of a pulse that was found
  std::size_t cut = 0;           ///< candidates of pulses that are only in part in the file
  std::size_t false_alarms = 0;  ///< candidates of no pulse
  std::size_t injected = 0;   ///< candidates of pulses that the search injected: none of the above
  double recall = 0;          ///< found pulses over pulses; NaN without a pulse
  double mean_snr_ratio = 0;  ///< candidate's over the truth's, of found pulses; NaN without one
  double median_snr_ratio = 0;   ///< of the same
  double snr_ratio_scatter = 0;  ///< standard deviation of the same; NaN for fewer than two
  bool agrees = false;  ///< enough pulses were found, of half of their S/N, or the truth has none
  std::string verdict;  ///< one sentence
};

/// A candidate belongs to a pulse when its DM moves the band's edge by no more than the wider of
/// both widths and three samples, and its time is off by no more than this, half of both widths and
/// three samples. `truth_path`: the truth file of a simulated filterbank. They agree where the recall is `least_recall`
/// or more and the median of the found pulses' S/N over the truth's is a half or more. Throws Error(io) and Error(format).
CandidateComparison compare_candidates(const std::string& candidates_path,
                                       const std::string& truth_path, double least_recall);

}  // namespace tautline::pipeline
