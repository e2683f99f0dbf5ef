// Pictures of each candidate's profile, DM against time and frequency against time, in a folder.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/pipeline/search/search_filterbank.h"

namespace tautline::pipeline {

/// For the time before a search: throws Error(io) where the folder has a picture of a candidate already, unless
/// `overwrite`, and Error(unsupported) where pictures cannot be drawn.
void require_candidate_pictures(const std::string& folder, bool overwrite);

/// FOLDER/candidate_0001.png ..., best first: profile, frequency against time and DM against time of each of
/// `summary.pictures`. Makes the folder. Returns the paths.
std::vector<std::string> write_candidate_pictures(const std::string& folder,
                                                  const SearchSummary& summary, bool overwrite,
                                                  const std::stop_token& stop);

}  // namespace tautline::pipeline
