// The HTML page of a search: every candidate against DM and time, and pictures of the best ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/pipeline/search/candidate_pictures.h"

namespace tautline::pipeline::report {

struct CandidatePage {
  std::string title;
  double duration_s = 0;  ///< of the data that were searched, from 0 on
  double first_s = 0;
  double low_dm = 0, high_dm = 0;  ///< of the trials
  double threshold = 0;
  std::vector<core::Candidate> candidates;  ///< best first
  std::string csv,
      your_csv;  ///< the list as `search` writes it: a header, and a line each in their order
  std::string history;  ///< of the run: with the list, it tells one page's marks from another's
  std::vector<std::string> beams;  ///< files, where each is a beam; else none
  std::size_t most_beams = 0;      ///< that may have a candidate at once
  double sample_s = 0;
  std::vector<std::pair<double, double>>
      empty;  ///< first_s and duration_s of stretches without data
  std::vector<double> masked_shares,
      channel_mhz;  ///< [channel] of the time that IQRM masked it; none: it was not asked for
  std::vector<CandidatePictures> pictures;                 ///< of the first of them
  std::vector<std::string> warnings;                       ///< of the run
  std::vector<std::pair<std::string, std::string>> facts;  ///< shown in order
};

/// {"type": "candidates"}: docs/guide/search.md lists its fields.
std::string candidates_message(const CandidatePage& page);

/// A self-contained page, as compose_page makes them.
std::string compose_candidate_page(const CandidatePage& page);

}  // namespace tautline::pipeline::report
